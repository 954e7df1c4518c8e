# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Launches while something was held down."""

from typing import Any

import pytest

HOT = ("core too hot",)


def launches(by_hand: Any, slowed: int, of: int = 6) -> list[Any]:
    """The first ones were slowed."""
    return [
        by_hand.make_launch(block, held_down=HOT if block < slowed else ()) for block in range(of)
    ]


def test_both_figures_are_shown_where_there_are_both(by_hand: Any) -> None:
    cell = by_hand.make_cell("latency", 10.0, noise=0.0)
    cell.launch_medians[:2] = [15.0, 15.0]
    (noticed,) = by_hand.noticed("throttled", [cell], launches=launches(by_hand, 2))
    (fact,) = noticed.facts
    assert (fact.name, fact.value, fact.launches) == ("core too hot", "of 6 launches", 2)
    assert [(part.of, part.value) for part in noticed.evidence] == [
        ("own", 15.0),
        ("alternative", 10.0),
    ]
    assert noticed.case == cell.case


def test_of_several_cases_the_one_that_was_hit_most(by_hand: Any) -> None:
    cells = [by_hand.make_cell("latency", 10.0, x=x, noise=0.0) for x in (8, 64, 512)]
    cells[1].launch_medians[:2] = [20.0, 20.0]
    (noticed,) = by_hand.noticed("throttled", cells, launches=launches(by_hand, 2))
    assert noticed.case.x == 64


@pytest.mark.parametrize("slowed", [1, 6])
def test_the_fact_stands_without_figures(by_hand: Any, slowed: int) -> None:
    cell = by_hand.make_cell("latency", 10.0)
    (noticed,) = by_hand.noticed("throttled", [cell], launches=launches(by_hand, slowed))
    assert (list(noticed.evidence), noticed.case) == ([], None)


def test_nothing_was_held_down(by_hand: Any) -> None:
    cell = by_hand.make_cell("latency", 10.0)
    assert not by_hand.noticed("throttled", [cell], launches=launches(by_hand, 0))
