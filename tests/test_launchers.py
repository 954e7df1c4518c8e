# SPDX-License-Identifier: Apache-2.0
"""The programs know the variables in which launchers tell ranks, as Python does."""

from pathlib import Path

import pytest

from nearpeak.libraries import launchers

OPTIONS = Path(__file__).parents[1] / "bench" / "options"


@pytest.mark.parametrize(
    ("source", "variable"), [("launched.cpp", "RANK"), ("launched.hpp", "LOCAL_RANK")]
)
def test_the_programs_know_the_variables_of_each_launcher(source: str, variable: str) -> None:
    text = (OPTIONS / source).read_text(encoding="utf-8")
    told = {getattr(module, variable) for module in launchers.modules()}
    assert [name for name in sorted(told) if f'"{name}"' not in text] == []
