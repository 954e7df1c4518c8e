# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""One way faster than the other."""

from typing import Any

import pytest


def both_ways(by_hand: Any, there: float | None, back: float | None) -> list[Any]:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR}
    return [
        by_hand.make_cell("bw", 53.0, buffers="H,D", ceiling=there, **where),
        by_hand.make_cell("bw", 12.0, buffers="D,H", ceiling=back, **where),
    ]


def test_a_difference_that_the_ceilings_do_not_have(by_hand: Any) -> None:
    (loss,) = by_hand.seen("directions", both_ways(by_hand, 55.0, 50.0))
    assert loss.cell.case.buffers == "D,H"
    assert loss.other.case.buffers == "H,D"
    assert loss.loss.ratio == pytest.approx(53 / 12 / 1.1, rel=0.03)


@pytest.mark.parametrize(("there", "back"), [(55.0, 15.0), (55.0, None)])
def test_one_that_they_have_or_nobody_knows_of(by_hand: Any, there: Any, back: Any) -> None:
    assert not by_hand.seen("directions", both_ways(by_hand, there, back))


def times(by_hand: Any, us: tuple[float, float], ceilings: tuple[float, float]) -> list[Any]:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR}
    return [
        by_hand.make_cell("put_latency", value, buffers=buffers, ceiling=ceiling, **where)
        for value, ceiling, buffers in zip(us, ceilings, ("H,D", "D,H"), strict=True)
    ]


def test_of_times_the_longer_one_loses_where_its_ceiling_is_not_longer(by_hand: Any) -> None:
    assert not by_hand.seen("directions", times(by_hand, (10.0, 40.0), (5.0, 20.0)))
    (loss,) = by_hand.seen("directions", times(by_hand, (10.0, 40.0), (20.0, 5.0)))
    assert loss.cell.case.buffers == "D,H"
    assert loss.loss.ratio == pytest.approx(4.0, rel=0.03)


def test_what_the_ceilings_have_too_is_not_lost(by_hand: Any) -> None:
    cells = times(by_hand, (10.0, 40.0), (5.0, 10.0))
    (loss,) = by_hand.seen("directions", cells)
    assert loss.loss.ratio == pytest.approx(2.0, rel=0.03)
    assert by_hand.view(cells).lost_us(loss) == pytest.approx(20.0, rel=0.05)
