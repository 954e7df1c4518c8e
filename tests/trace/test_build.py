# SPDX-License-Identifier: Apache-2.0
"""What is preloaded is built beside the programs, and neither is built again for the other."""

from pathlib import Path

import pytest

from nearpeak.libraries.build import NATIVE, TRACE, Target


@pytest.mark.parametrize("folder", ["trace", "calls"])
def test_each_has_sources_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    bench, preload = tmp_path / "bench", tmp_path / "preload"
    for made in (bench / "tests", preload / folder, preload / "tests"):
        made.mkdir(parents=True)
    (bench / "CMakeLists.txt").write_text("")
    monkeypatch.setenv("NEARPEAK_BENCH", str(bench))
    program, preloaded = NATIVE.identity(), Target(TRACE).identity()
    for root in (bench, preload):
        (root / "tests" / "some.cpp").write_text("")
    assert (program, preloaded) == (NATIVE.identity(), Target(TRACE).identity())
    (preload / folder / "some.cpp").write_text("")
    assert program == NATIVE.identity()
    assert preloaded != Target(TRACE).identity()
    (bench / "some.cpp").write_text("")
    assert program != NATIVE.identity()
