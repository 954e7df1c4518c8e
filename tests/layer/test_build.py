# SPDX-License-Identifier: Apache-2.0
"""The layer is built anew for what it is made of alone."""

import shutil
from pathlib import Path

import pytest

from nearpeak.libraries.build import (
    EXPLAIN,
    LAYER,
    NATIVE,
    TRACE,
    Target,
    preloaded_sources,
    sources,
)


def test_which_sources_it_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = shutil.copytree(sources(), tmp_path / "bench")
    preload = shutil.copytree(preloaded_sources(), tmp_path / "preload")
    monkeypatch.setenv("NEARPEAK_BENCH", str(bench))

    def identities() -> dict[str, str]:
        targets = [NATIVE, EXPLAIN, Target(TRACE), Target(LAYER)]
        return {target.program: target.identity() for target in targets}

    def changed_by(file: Path) -> set[str]:
        before = identities()
        with file.open("a") as source:
            source.write("\n// Another.\n")
        after = identities()
        return {name for name in before if before[name] != after[name]}

    assert changed_by(preload / "layer/protocol/send.cpp") == {LAYER}
    assert changed_by(preload / "trace/table.cpp") == {TRACE}
    assert changed_by(preload / "calls/calls.inc") == {LAYER, TRACE}
    assert LAYER in changed_by(bench / "accel/gpu/gpu.cpp")
