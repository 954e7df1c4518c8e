# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Datatypes against blocks that were gathered before."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("direct", "pack", "count"), [(9000.0, "kernel", 1), (9000.0, "mpi", 1), (25.0, "kernel", 0)]
)
def test_the_library_is_slower_than_a_kernel(
    by_hand: Any, direct: float, pack: str, count: int
) -> None:
    cells = [
        by_hand.make_cell("vector", us, x=4096, pack=how, block="8")
        for us, how in ((direct, "direct"), (20.0, pack))
    ]
    seen = by_hand.seen("datatypes", cells)
    assert len(seen) == count
    for loss in seen:
        assert loss.other.case.axes["pack"] == pack


def test_a_slow_kernel_is_not_the_library(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("vector", us, pack=how) for us, how in ((20.0, "direct"), (90.0, "mpi"))
    ]
    assert not by_hand.seen("datatypes", cells)
