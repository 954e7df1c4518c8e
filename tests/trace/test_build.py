# SPDX-License-Identifier: Apache-2.0
"""What is preloaded is built beside the programs, and neither is built again for the other."""

from pathlib import Path

import pytest

from nearpeak.libraries.build import NATIVE, TRACE, Target


@pytest.mark.parametrize("folder", ["trace", "calls"])
def test_each_has_sources_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "CMakeLists.txt").write_text("")
    monkeypatch.setenv("NEARPEAK_BENCH", str(tmp_path))
    program, preloaded = NATIVE.identity(), Target(TRACE).identity()
    (tmp_path / "tests" / "some.cpp").write_text("")
    assert (program, preloaded) == (NATIVE.identity(), Target(TRACE).identity())
    (tmp_path / folder / "some.cpp").write_text("")
    assert program == NATIVE.identity()
    assert preloaded != Target(TRACE).identity()
    (tmp_path / "some.cpp").write_text("")
    assert program != NATIVE.identity()
