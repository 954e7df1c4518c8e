# SPDX-License-Identifier: Apache-2.0
"""What tests share."""

from pathlib import Path

import pytest

from nearpeak.libraries.build import compiler


def test_a_stand_in_is_another_after_a_change_of_what_it_includes(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shared = request.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    assert shared is not None
    source, header = tmp_path / "fake.cpp", tmp_path / "vendor.hpp"
    source.write_text('#include "vendor.hpp"\n')
    header.write_text("struct Given { int size; };\n")
    words = [*compiler(), str(source)]
    made_of = shared.made_of(words)
    assert shared.made_of(words) == made_of
    header.write_text("struct Given { long size; };\n")
    assert shared.made_of(words) != made_of
