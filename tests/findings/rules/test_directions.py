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
    assert loss.ceilings == pytest.approx(1.1)


@pytest.mark.parametrize(("there", "back"), [(55.0, 20.0), (55.0, None)])
def test_one_that_they_have_or_nobody_knows_of(by_hand: Any, there: Any, back: Any) -> None:
    assert not by_hand.seen("directions", both_ways(by_hand, there, back))
