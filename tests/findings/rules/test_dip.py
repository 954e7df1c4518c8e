# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Sizes that fall behind their neighbours."""

from typing import Any

import pytest


def curve(by_hand: Any, *figures: tuple[float, float | None]) -> list[Any]:
    """Times and their ceilings, of 512 B, 4 KiB and 32 KiB."""
    return [
        by_hand.make_cell("latency", us, x=x, ceiling=ceiling, noise=0.01)
        for x, (us, ceiling) in zip((512, 4096, 32768), figures, strict=True)
    ]


def test_it_is_told_against_the_further_neighbour(by_hand: Any) -> None:
    (loss,) = by_hand.seen("dip", curve(by_hand, (2.0, 1.0), (12.0, 2.0), (9.0, 3.0)))
    assert (loss.cell.case.x, loss.loss.ratio) == (4096, pytest.approx(2.0, rel=0.05))
    assert loss.loss.better == pytest.approx(6.0, rel=0.05)  # three times the ceiling


@pytest.mark.parametrize(
    "figures",
    [
        ((2.0, 1.0), (8.0, 2.0), (9.0, 3.0)),  # 4 of 3: by less than the limit
        ((2.0, 1.0), (12.0, 2.0), (18.0, 3.0)),  # it goes on so
        ((6.0, 1.0), (12.0, 2.0), (9.0, 3.0)),  # it was so before
        ((2.0, 1.0), (6.0, 0.5), (30.0, 15.0)),  # the ceiling alone is better there
        ((2.0, None), (12.0, 2.0), (9.0, 3.0)),  # nothing is known of what is natural
    ],
)
def test_what_is_no_finding(by_hand: Any, figures: Any) -> None:
    assert not by_hand.seen("dip", curve(by_hand, *figures))


def test_a_bound_is_no_measure_of_neighbours(by_hand: Any) -> None:
    cells = curve(by_hand, (2.0, 1.0), (12.0, 2.0), (9.0, 3.0))
    for cell in cells:
        cell.ceiling.kind = "bound"
    assert not by_hand.seen("dip", cells)
