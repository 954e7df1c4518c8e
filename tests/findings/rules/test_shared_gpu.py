# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""The rank with host memory on the GPU of the other rank, and on its own."""

from typing import Any

import pytest


@pytest.mark.parametrize(("same", "own", "count"), [(190.0, 53.0, 1), (60.0, 53.0, 0)])
def test_what_one_gpu_for_both_ranks_costs(
    by_hand: Any, same: float, own: float, count: int
) -> None:
    cells = [
        by_hand.make_cell("latency", same, place=by_hand.NEAR_SAME_GPU),
        by_hand.make_cell("latency", own, place=by_hand.NEAR),
    ]
    seen = by_hand.seen("shared_gpu", cells)
    assert [loss.other.place for loss in seen] == [by_hand.NEAR] * count


def test_it_is_not_taken_for_the_cost_of_a_missing_mps(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 190.0, place=by_hand.NEAR_SAME_GPU),
        by_hand.make_cell("latency", 53.0, place=by_hand.NEAR),
    ]
    assert not by_hand.seen("mps", cells)


def test_ranks_that_share_a_gpu_for_their_buffers_are_no_such(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 190.0, place=by_hand.MPS),
        by_hand.make_cell("latency", 53.0, place=by_hand.SAME),
    ]
    assert not by_hand.seen("shared_gpu", cells)
