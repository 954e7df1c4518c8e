# SPDX-License-Identifier: Apache-2.0
"""history.json, from studies over time."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.compare.load import load_side
from nearpeak.errors import UserError
from nearpeak.history.build import build, to_json
from nearpeak.history.courses import History

MakeSides = Callable[..., Path]


@pytest.fixture(scope="module")
def history(nightly: Path) -> History:
    return build(load_side([nightly]), 0.05)


def test_a_change_is_one_event_with_what_changed_then(history: History) -> None:
    assert history.status == 1
    [event] = history.events
    assert (event.session, event.slower, event.faster) == (19, 6, 0)
    [part] = event.parts
    assert (part.who.library, part.curve, part.regressed) == ("alpha", None, True)
    assert part.ratio == pytest.approx(0.8, abs=0.02)
    [candidate] = event.candidates
    assert (candidate.name, candidate.before, candidate.now) == ("nvidia", "580", "590")
    assert [(fact.session, fact.name) for fact in history.facts] == [(4, "cuda"), (19, "nvidia")]


def test_courses_are_relative_to_their_first_level(history: History) -> None:
    [alpha] = history.libraries
    assert [len(curve.cases) for curve in alpha.curves] == [3, 3]
    assert {len(course.values) for course in alpha.courses} == {24}
    assert alpha.course.values[0] == pytest.approx(1, abs=0.05)
    assert alpha.course.values[-1] == pytest.approx(0.8, abs=0.05)
    latency = next(curve for curve in alpha.curves if curve.curve.benchmark == "latency")
    assert latency.cases[0].figures[-1] == pytest.approx(2.0 / 0.8, rel=0.05)  # us
    [ceiling] = history.ceilings
    assert not any(course.steps for course in ceiling.courses)


def test_an_accepted_change_is_no_regression(nightly: Path) -> None:
    history = build(load_side([nightly]), 0.05, since="2026-01-21")
    assert history.status == 0
    assert len(history.events) == 1
    assert build(load_side([nightly]), 0.05, since="2026-01-20").status == 1


def test_a_change_within_the_tolerance_is_not_reported(nightly: Path) -> None:
    assert build(load_side([nightly]), 0.3).events == []


def test_few_sessions_are_not_judged(make_sides: MakeSides) -> None:
    studies = load_side([make_sides(f"day{day}", day=day, blocks=2) for day in (1, 2, 3)])
    history = build(studies, 0.05)
    assert (history.judged, history.status) == (False, 3)
    assert history.libraries[0].course.scatter is None


def test_curves_and_sizes_that_ended_are_named(make_sides: MakeSides) -> None:
    sides = [make_sides(f"day{day}", day=day, blocks=2) for day in (1, 2)]
    sides.append(make_sides("day3", day=3, blocks=2, crashed=("alpha",)))
    [gone] = build(load_side(sides), 0.05).gone
    assert (gone.curve.benchmark, gone.sizes, gone.session) == ("bw", [], 1)
    studies = load_side(sides)
    results = studies[2].results
    results.cells = [cell for cell in results.cells if cell.case.x == 1024]
    lost = {gone.curve.benchmark: gone for gone in build(studies, 0.05).gone}
    assert lost["latency"].sizes == [4096, 16384]


def test_a_session_in_which_everything_failed_is_the_newest(make_sides: MakeSides) -> None:
    studies = load_side([make_sides(f"day{day}", day=day, blocks=3) for day in (1, 2)])
    failed = load_side([make_sides("day3", day=3, blocks=3, crashed=("alpha",))])
    failed[0].results.cells = []
    failed[0].results.ceilings = []
    judged = build([*studies, *failed], 0.05)
    assert len(judged.sessions) == 3
    assert judged.failures[0].session == 2


def test_nothing_measured_is_bad_input(make_sides: MakeSides) -> None:
    failed = make_sides("failed", crashed=("alpha",), blocks=1)
    studies = load_side([failed])
    studies[0].results.cells = []
    studies[0].results.ceilings = []
    with pytest.raises(UserError, match="no study here has a figure"):
        build(studies, 0.05)


def test_a_folder_that_cannot_be_read_may_have_any_name(nightly: Path) -> None:
    folder = os.fsdecode(b"x\xff")
    history = build(load_side([nightly]), 0.05, skipped=[(folder, f"{folder}: no records")])
    assert '"x\N{REPLACEMENT CHARACTER}: no records"' in to_json(history)
