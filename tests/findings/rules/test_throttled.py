# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Launches while something was held down."""

from typing import Any

import pytest

HOT = ("core too hot",)


def noticed(by_hand: Any, cells: list[Any], slowed: int, of: int = 6) -> list[Any]:
    """The first launches were slowed; each measured all cells."""
    launches = [
        by_hand.make_launch(block, held_down=HOT if block < slowed else ()) for block in range(of)
    ]
    observed = [by_hand.observed(launch, cell) for launch in launches for cell in cells]
    found: list[Any] = by_hand.noticed("throttled", cells, launches=launches, observed=observed)
    return found


def test_both_figures_are_shown_where_there_are_both(by_hand: Any) -> None:
    cell = by_hand.make_cell("latency", 10.0, noise=0.0)
    cell.launch_medians[:2] = [15.0, 15.0]
    (found,) = noticed(by_hand, [cell], 2)
    (fact,) = found.facts
    assert (fact.name, fact.value, fact.launches) == ("core too hot", "of 6 launches", 2)
    assert [(part.of, part.value) for part in found.evidence] == [
        ("own", 15.0),
        ("alternative", 10.0),
    ]
    assert found.case == cell.case
    assert found.remedy == "Let what is too hot cool. Then measure again."


@pytest.mark.parametrize("first", [True, False])
def test_of_several_launches_in_a_block_that_of_the_case_counts(by_hand: Any, first: bool) -> None:
    hot, cool = by_hand.make_cell("latency", 10.0, x=8), by_hand.make_cell("latency", 10.0, x=64)
    hot.launch_medians[:2] = [15.0, 15.0]
    launches, observed = [], []
    for block in range(6):
        pair = [
            (by_hand.make_launch(block, held_down=HOT if block < 2 else ()), hot),
            (by_hand.make_launch(block), cool),
        ]
        for launch, cell in pair if first else reversed(pair):
            launches.append(launch)
            observed.append(by_hand.observed(launch, cell))
    (found,) = by_hand.noticed("throttled", [hot, cool], launches=launches, observed=observed)
    (fact,) = found.facts
    assert (found.case.x, fact.value, fact.launches) == (8, "of 12 launches", 2)


def test_of_several_cases_the_one_that_was_hit_most(by_hand: Any) -> None:
    cells = [by_hand.make_cell("latency", 10.0, x=x, noise=0.0) for x in (8, 64, 512)]
    cells[1].launch_medians[:2] = [20.0, 20.0]
    (found,) = noticed(by_hand, cells, 2)
    assert found.case.x == 64


def test_what_was_no_slower_has_no_figures(by_hand: Any) -> None:
    cell = by_hand.make_cell("latency", 10.0, noise=0.0)
    cell.launch_medians[:2] = [10.2, 10.2]
    (found,) = noticed(by_hand, [cell], 2)
    assert (list(found.evidence), found.case) == ([], None)


@pytest.mark.parametrize("slowed", [1, 6])
def test_the_fact_stands_without_figures(by_hand: Any, slowed: int) -> None:
    (found,) = noticed(by_hand, [by_hand.make_cell("latency", 10.0)], slowed)
    assert (list(found.evidence), found.case) == ([], None)


def test_nothing_was_held_down(by_hand: Any) -> None:
    assert not noticed(by_hand, [by_hand.make_cell("latency", 10.0)], 0)
