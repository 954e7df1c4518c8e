# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Both ways at once against one way."""

from typing import Any

import pytest


def rates(by_hand: Any, one: float, both: float, ceilings: Any = (350.0, 700.0)) -> list[Any]:
    x = 4 * by_hand.MIB
    return [
        by_hand.make_cell("bw", one, x=x, ceiling=ceilings[0]),
        by_hand.make_cell("bibw", both, x=x, ceiling=ceilings[1]),
    ]


def test_both_ways_carry_no_more_than_one(by_hand: Any) -> None:
    (loss,) = by_hand.seen("bidirectional", rates(by_hand, 53.0, 53.0))
    assert (loss.cell.case.benchmark, loss.other.case.benchmark) == ("bibw", "bw")
    assert (loss.loss.ratio, loss.loss.better) == pytest.approx((2.0, 106.0), rel=0.05)


@pytest.mark.parametrize(
    ("one", "both", "ceilings"),
    [
        (53.0, 100.0, (350.0, 700.0)),  # nearly twice as much
        (53.0, 53.0, (350.0, 400.0)),  # the path carries hardly more
        (53.0, 53.0, (350.0, None)),  # nobody knows what it carries
    ],
)
def test_what_is_no_finding(by_hand: Any, one: float, both: float, ceilings: Any) -> None:
    assert not by_hand.seen("bidirectional", rates(by_hand, one, both, ceilings))


def test_small_messages_are_the_cpus_business(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bw", 0.1, x=64, ceiling=1.0),
        by_hand.make_cell("bibw", 0.1, x=64, ceiling=2.0),
    ]
    assert not by_hand.seen("bidirectional", cells)


@pytest.mark.parametrize(("back", "count"), [(53.0, 1), (20.0, 0), (None, 0)])
def test_of_unlike_memories_the_slower_way_counts(
    by_hand: Any, back: float | None, count: int
) -> None:
    """Both ways as much cannot move more than twice the slower one."""
    where = {"x": by_hand.MIB, "place": by_hand.NEAR}
    cells = [
        by_hand.make_cell("bw", 53.0, buffers="H,D", ceiling=55.0, **where),
        by_hand.make_cell("bibw", 40.0, buffers="H,D", ceiling=80.0, **where),
    ]
    if back is not None:
        cells.append(by_hand.make_cell("bw", back, buffers="D,H", ceiling=55.0, **where))
    assert len(by_hand.seen("bidirectional", cells)) == count
