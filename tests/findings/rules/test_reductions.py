# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Sums of a GPU's memory against moving as many bytes."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("us", "buffers", "found"), [(2500, "D,D", 1), (250, "D,D", 0), (2500, "H,H", 0)]
)
def test_a_sum_far_slower_than_its_bytes(by_hand: Any, us: float, buffers: str, found: int) -> None:
    """Both move 1 MiB to each of two ranks."""
    cells = [
        by_hand.make_cell("allreduce", us, x=by_hand.MIB, buffers=buffers, type="float"),
        by_hand.make_cell("bcast", 100.0, x=by_hand.MIB, buffers=buffers),
        by_hand.make_cell("bcast", 1.0, x=by_hand.MIB, buffers=buffers, library="other"),
        by_hand.make_cell("allreduce", us, buffers=buffers, type="float"),  # 8 B
        by_hand.make_cell("bcast", 0.1, buffers=buffers),
    ]
    seen = by_hand.seen("reductions", cells)
    assert len(seen) == found
    if found:
        assert seen[0].loss.ratio == pytest.approx(25.0, rel=0.05)
        assert seen[0].other.case.benchmark == "bcast"
        assert (seen[0].scaled, seen[0].loss.better) == pytest.approx((1.0, 100.0), rel=0.01)


def test_both_find_the_same_in_the_caches(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("allreduce", 2500.0, x=by_hand.MIB, type="float", reuse="rotating"),
        by_hand.make_cell("bcast", 100.0, x=by_hand.MIB, reuse="fixed"),
    ]
    assert not by_hand.seen("reductions", cells)
