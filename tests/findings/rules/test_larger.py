# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Sizes that take longer than larger ones."""

from typing import Any

import pytest


def sizes(by_hand: Any, small: float, large: float, ceilings: Any = (None, None)) -> list[Any]:
    return [
        by_hand.make_cell("latency", us, x=x, ceiling=ceiling)
        for x, us, ceiling in ((8, small, ceilings[0]), (4096, large, ceilings[1]))
    ]


def test_the_larger_message_is_the_faster_one(by_hand: Any) -> None:
    (loss,) = by_hand.seen("larger", sizes(by_hand, 148.0, 82.0))
    assert (loss.cell.case.x, loss.other.case.x) == (8, 4096)
    assert loss.loss.ratio == pytest.approx(148 / 82, rel=0.05)


@pytest.mark.parametrize(
    ("small", "large", "ceilings"),
    [
        (82.0, 148.0, (None, None)),  # as it should be
        (100.0, 82.0, (None, None)),  # by less than the limit
        (148.0, 82.0, (2.0, 1.2)),  # the path itself is slower there
    ],
)
def test_what_is_no_finding(by_hand: Any, small: float, large: float, ceilings: Any) -> None:
    assert not by_hand.seen("larger", sizes(by_hand, small, large, ceilings))


def test_only_neighbours_of_one_curve_are_compared(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 148.0, library="mpich"),
        by_hand.make_cell("latency", 82.0, x=4096),
        by_hand.make_cell("bw", 0.1),
        by_hand.make_cell("bw", 100.0, x=4096),
    ]
    assert not by_hand.seen("larger", cells)
