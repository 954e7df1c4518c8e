# SPDX-License-Identifier: Apache-2.0
"""What counts of a study, launch by launch."""

from collections.abc import Callable
from pathlib import Path

from nearpeak.compare.figures import Launch, gather
from nearpeak.compare.load import load_side
from nearpeak.terms.identity import CEILING

MakeSides = Callable[..., Path]


def test_libraries_ceilings_and_fractions_by_launch(make_sides: MakeSides) -> None:
    studies = load_side([make_sides(f"s{day}", day=day, blocks=2, scatter=0.0) for day in (1, 2)])
    found = gather(studies, {(0, 0): 4, (1, 0): 5})
    launches = [Launch(session, block) for session in (4, 5) for block in (0, 1)]
    for (who, _, case), figures in found.items():
        assert sorted(figures.values) == launches
        if who == CEILING:
            assert not figures.of_ceiling
        else:
            assert sorted(figures.of_ceiling) == launches
            values = {round(value, 6) for value in figures.of_ceiling.values()}
            rates, times = {1024: 0.1, 4096: 0.3, 16384: 0.8}, {1024: 0.5, 4096: 0.4, 16384: 0.25}
            assert values == {(rates if case.benchmark == "bw" else times)[case.x]}
    assert len(found) == 12


def test_a_session_that_was_ended_early_does_not_count_as_one(make_sides: MakeSides) -> None:
    sides = [make_sides(f"s{day}", day=day, blocks=blocks) for day, blocks in ((1, 2), (2, 3))]
    studies = load_side(sides)
    for figures in gather(studies, {(0, 0): 4, (1, 0): 5}).values():
        assert {launch.session for launch in figures.values} == {5}
        assert {launch.session for launch in [*figures.of_ceiling, *figures.distances]} <= {5}
    alone = gather(studies[:1], {(0, 0): 4}).values()
    assert all({launch.session for launch in figures.values} == {4} for figures in alone)


def test_empty_messages_have_no_rate_and_facts_no_ceiling(make_sides: MakeSides) -> None:
    studies = load_side([make_sides("one", blocks=2)])
    for cell in studies[0].results.cells:
        if cell.case.x == 1024:
            cell.median = None
    for point in studies[0].results.ceilings:
        point.fact = point.case.x == 4096
    found = {(who.library, case.x) for who, _, case in gather(studies, {(0, 0): 0})}
    assert ("alpha", 1024) not in found
    assert ("", 4096) not in found
    assert ("", 1024) in found
