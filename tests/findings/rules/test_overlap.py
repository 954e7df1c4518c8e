# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Communication that does not go on during computation."""

from typing import Any

import pytest

from nearpeak.results.results import Estimated, Overlap


def cell(by_hand: Any, ratio: float) -> Any:
    made = by_hand.make_cell("iallreduce", ratio, ceiling=1.0)
    hidden = Estimated(value=2 - ratio, ci95=None, range=(0.0, 1.0))
    made.overlap = Overlap(hidden=hidden, communicate_us=90.0, compute_us=100.0, both_us=190.0)
    return made


@pytest.mark.parametrize(("ratio", "count"), [(1.9, 1), (1.2, 0)])
def test_what_is_not_hidden_is_lost(by_hand: Any, ratio: float, count: int) -> None:
    made = cell(by_hand, ratio)
    seen = by_hand.seen("overlap", [made])
    assert len(seen) == count
    for loss in seen:
        assert loss.other is None
        lost = by_hand.view([made]).lost_us(loss)
        assert lost == pytest.approx((ratio - 1) * 100.0, rel=0.05)


def test_other_ratios_are_not_meant(by_hand: Any) -> None:
    made = cell(by_hand, 1.9)
    made.overlap = None
    assert not by_hand.seen("overlap", [made])
