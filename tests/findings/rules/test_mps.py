# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""One GPU shared by the ranks, under MPS and without."""

from typing import Any

import pytest


@pytest.mark.parametrize(("without", "under", "mps"), [(255.0, 20.0, False), (10.0, 20.0, True)])
def test_the_slower_way_loses(by_hand: Any, without: float, under: float, mps: bool) -> None:
    cells = [
        by_hand.make_cell("latency", without, place=by_hand.SAME),
        by_hand.make_cell("latency", under, place=by_hand.MPS),
    ]
    (loss,) = by_hand.seen("mps", cells)
    assert (loss.cell.place.mps, loss.other.place.mps) == (mps, not mps)


def test_near_ways_are_none(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 20.0, place=by_hand.SAME),
        by_hand.make_cell("latency", 25.0, place=by_hand.MPS),
    ]
    assert not by_hand.seen("mps", cells)
