# SPDX-License-Identifier: Apache-2.0
"""Collectives that do not wait, and persistent ones, of device buffers, with the layer."""

import re
from pathlib import Path
from typing import Any

import pytest
from layer_programs import cases_of

CASES = cases_of("begun")
COUNTS = re.compile(r"(\d+) collectives directly, (\d+) collectives and other calls")


def run(begun: Any, nvrtc: Path, *words: str, ranks: int = 2, **env: str) -> Any:
    variables = {"NEARPEAK_LAYER_REPORT": "1", "NEARPEAK_NVRTC_LIBRARY": str(nvrtc), **env}
    return begun.run(*words, ranks=ranks, fake="reachable=1,mps=1", env=variables)


def counts(done: Any) -> list[tuple[int, int]]:
    """Of each rank: how many went directly, and how many through host memory."""
    return [(int(directly), int(shadowed)) for directly, shadowed in COUNTS.findall(done.err)]


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_cases(begun: Any, fake_nvrtc: Path, ranks: int) -> None:
    words = ["--multiple", *CASES] if ranks == 3 else CASES
    done = run(begun, fake_nvrtc, *words, ranks=ranks)
    assert done.good() == CASES, (done.out, done.err)
    found = counts(done)
    assert len(found) == ranks
    assert len({directly for directly, _ in found}) == 1, found
    assert found[0][0] > 500, found


def test_without_patience(begun: Any, fake_nvrtc: Path) -> None:
    """A call that waits in the MPI library leaves it all collectives that not all have called."""
    done = run(begun, fake_nvrtc, *CASES, ranks=3, NEARPEAK_LAYER_PATIENCE="0")
    assert done.good() == CASES, (done.out, done.err)
