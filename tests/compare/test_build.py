# SPDX-License-Identifier: Apache-2.0
"""What a comparison says of studies whose truth is known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.compare import wording
from nearpeak.compare.build import compare
from nearpeak.compare.compared import Compared
from nearpeak.compare.load import Study, load_side
from nearpeak.compare.present import present
from nearpeak.document.page import render
from nearpeak.errors import UserError
from nearpeak.terms.identity import CEILING, Who
from nearpeak.terms.left_out import LeftOut

MakeSides = Callable[..., Path]
EXAMPLES = Path(__file__).parents[2] / "examples"


def three(make_sides: MakeSides, name: str, first: int, **options: object) -> list[Path]:
    return [make_sides(f"{name}{day}", day=day, **options) for day in range(first, first + 3)]


def compared(old: list[Path], new: list[Path], tolerance: float = 0.05) -> Compared:
    return compare(load_side(old), load_side(new), tolerance)


def test_a_slower_library_regressed_and_the_path_did_not(make_sides: MakeSides) -> None:
    old = three(make_sides, "old", 1)
    new = three(make_sides, "new", 4, factor=1 / 1.1)
    found = compared(old, new)
    assert found.regressed
    [library] = found.libraries
    assert (library.who, library.change.verdict) == (Who("alpha"), "slower")
    assert library.change.regressed
    assert library.change.ratio == pytest.approx(1 / 1.1, rel=0.03)
    assert library.of_ceiling is not None
    assert library.of_ceiling.ratio == pytest.approx(1 / 1.1, rel=0.03)
    assert {curve.curve.benchmark for curve in library.curves} == {"bw", "latency"}
    assert {curve.change.verdict for curve in library.curves} == {"slower"}
    [ceiling] = found.ceilings
    assert (ceiling.who, ceiling.of_ceiling) == (CEILING, None)
    assert not any(change.regressed for change in ceiling.changes)
    assert [session.side for session in found.sessions] == ["old"] * 3 + ["new"] * 3
    assert len(library.change.history) == 6
    assert max(found.libraries[0].change.history[3:]) < min(library.change.history[:3])  # type: ignore[type-var]


def test_a_slower_path_is_told_from_a_slower_library(make_sides: MakeSides) -> None:
    old = three(make_sides, "old", 1)
    found = compared(old, three(make_sides, "new", 4, factor=0.8, path_factor=0.8))
    assert found.ceilings[0].change.regressed
    assert found.libraries[0].change.regressed
    assert found.libraries[0].of_ceiling is not None
    assert found.libraries[0].of_ceiling.ratio == pytest.approx(1, rel=0.03)


def test_within_the_tolerance_nothing_regressed(make_sides: MakeSides) -> None:
    old = three(make_sides, "old", 1)
    found = compared(old, three(make_sides, "new", 4, factor=1 / 1.1), tolerance=0.3)
    assert not found.regressed
    assert found.libraries[0].change.verdict == "equivalent"


def test_applications_are_compared_by_the_sizes_of_their_problems(made_applications: Any) -> None:
    def side(name: str, us: float) -> list[Study]:
        made = made_applications.Made()
        made.plane(made_applications.TWO, us)
        return [Study(Path(name), msgspec.structs.replace(made.results(), started=name))]

    found = compare(side("2026-01-01", 1000.0), side("2026-01-02", 2000.0), 0.05)
    [library] = found.libraries
    [curve] = library.curves
    assert (curve.curve.benchmark, curve.change.ratio) == ("plane", pytest.approx(0.5))
    assert [(cell.case.x, cell.x_unit) for cell in curve.cells] == [(1000, "cells")]
    assert '<th scope="row" class="name">1000 cells</th>' in render(present(found))


def test_one_session_each_leaves_a_small_loss_open(make_sides: MakeSides) -> None:
    found = compared([make_sides("old", day=1)], [make_sides("new", day=2, factor=1 / 1.1)])
    assert not found.regressed
    change = found.libraries[0].change
    assert change.verdict == "undecided"
    assert change.alone is not None
    assert change.alone[1] < 1  # launches alone would have told it


def test_one_session_of_a_side_judges_no_ceiling_and_nothing_without_one(
    make_sides: MakeSides,
) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2, factor=0.1)])
    for [study] in (old, new):
        for cell in study.results.cells:
            if cell.case.benchmark == "bw":
                cell.ceiling = None
    found = compare(old, new, 0.05)
    assert {change.lacks for place in found.ceilings for change in place.changes} == {"session"}
    [library] = found.libraries
    lacks = {
        curve.curve.benchmark: {change.lacks for change in curve.changes}
        for curve in library.curves
    }
    assert lacks == {"bw": {"control"}, "latency": {""}}
    verdicts = {curve.curve.benchmark: curve.change.verdict for curve in library.curves}
    assert verdicts == {"bw": "undecided", "latency": "slower"}
    assert not any(change.regressed for change in found.ceilings[0].changes)


def test_libraries_and_ceilings_share_one_error_rate(make_sides: MakeSides) -> None:
    found = compared(three(make_sides, "old", 1), three(make_sides, "new", 4, factor=0.9))
    alone = (
        load_side(three(make_sides, "old", 1)),
        load_side(three(make_sides, "new", 4, factor=0.9)),
    )
    for side in alone:
        for study in side:
            study.results.ceilings = []
    [library] = found.libraries
    [other] = compare(*alone, 0.05).libraries
    assert library.change.p_value == pytest.approx(other.change.p_value)
    assert library.change.p_adjusted > 1.5 * other.change.p_adjusted


def test_a_recorded_study_and_its_equal_do_not_differ() -> None:
    [old], [new] = (load_side([EXAMPLES / "h200x2-shipped"]) for _ in range(2))
    new.results.study = "another"
    found = compare([old], [new], 0.05)
    assert not found.regressed
    assert not found.differences
    assert {change.ratio for place in found.places for change in place.changes} == {1.0}


def test_a_study_is_not_compared_with_itself(make_sides: MakeSides) -> None:
    file = make_sides("one")
    with pytest.raises(UserError, match="are the same study: compare it with another one"):
        compared([file], [file])


BOTH = ("alpha", "beta")


def test_what_always_crashes_now_regressed_and_does_not_vanish(make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=BOTH)
    new = make_sides("new", day=2, libraries=BOTH, crashed=("beta",))
    found = compared([old], [new])
    assert found.regressed
    [failing] = found.failures
    assert (failing.who.library, failing.curve, failing.regressed) == ("beta", None, True)
    assert (failing.old.failed, failing.old.tried) == (0, 6)
    assert (failing.new.failed, failing.new.tried) == (6, 6)
    assert [(end.status, end.case, end.tries) for end in failing.new.ended] == [
        ("crashed", None, 6)
    ]
    assert failing.p_value == pytest.approx(1 / 924)
    assert failing.p_adjusted == failing.p_value
    assert [
        (missing.who.library, missing.curve.benchmark, missing.failed) for missing in found.missing
    ] == [("beta", "bw", True)]
    assert found.unmatched == []
    later = make_sides("later", day=3, libraries=BOTH, crashed=("beta",))
    again = compared([new], [later])  # it did before, too
    assert not again.regressed
    assert not again.failures[0].regressed


def test_one_crash_is_no_regression(make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=BOTH)
    new = make_sides("new", day=2, libraries=BOTH, crashed=("beta",), crashes=[3])
    found = compared([old], [new])
    assert not found.regressed
    [failing] = found.failures
    assert (failing.new.failed, failing.new.tried, failing.needed) == (1, 6, 30)
    assert (failing.p_adjusted, failing.regressed) == (0.5, False)
    assert found.missing == []


def test_what_counts_do_not_allow_to_judge_is_shown(make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=BOTH, blocks=2)
    new = make_sides("new", day=2, libraries=BOTH, blocks=2, crashed=("beta",))
    found = compared([old], [new])
    assert not found.regressed
    [failing] = found.failures
    assert (failing.new.failed, failing.new.tried, failing.needed) == (2, 2, 3)
    assert [missing.failed for missing in found.missing] == [True]


def test_wrong_data_once_is_a_regression(make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=BOTH)
    wrong = {"crashed": ("beta",), "crashes": [3], "status": "wrong data"}
    new = make_sides("new", day=2, libraries=BOTH, **wrong)
    found = compared([old], [new])
    assert found.regressed
    assert [(failure.wrong_data, failure.regressed) for failure in found.failures] == [(True, True)]
    later = make_sides("later", day=3, libraries=BOTH, **wrong)
    assert not compared([new], [later]).regressed


def test_sizes_that_fail_now_are_counted_as_such(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    for cell in new[0].results.cells:
        if cell.case.x == 16384:
            cell.median, cell.status = None, "crashed"
    [unmatched] = compare(old, new, 0.05).unmatched
    assert (unmatched.cases, unmatched.why) == (2, "failed on the new side")


def test_what_the_new_side_lacks_is_missing_unless_that_is_allowed(make_sides: MakeSides) -> None:
    old, new = make_sides("old", libraries=("alpha", "beta")), make_sides("new", day=2)
    found = compared([old], [new])
    assert found.regressed
    assert {(missing.who, missing.curve.benchmark, missing.lacks) for missing in found.missing} == {
        (Who("beta"), "bw", "library"),
        (Who("beta"), "latency", "library"),
    }
    assert found.unmatched == []
    allowed = compare(load_side([old]), load_side([new]), 0.05, allow_missing=True)
    assert allowed.missing == found.missing
    assert not allowed.regressed
    [unmatched] = compared([new], [old]).unmatched  # what was added is no regression
    assert (unmatched.who, unmatched.cases, unmatched.why) == (
        Who("beta"),
        6,
        "only the new side has it",
    )


@pytest.mark.parametrize(
    ("gone", "lacks"),
    [
        ({("alpha", "far"), ("beta", "far"), ("", "far")}, "path"),
        ({("beta", "far"), ("beta", "host-host same-numa")}, "library"),
        ({("beta", "far")}, "curve"),
    ],
)
def test_the_most_that_is_missing_is_named(
    make_sides: MakeSides, gone: set[tuple[str, str]], lacks: str
) -> None:
    libraries = ("alpha", "beta")
    old, new = (load_side([make_sides(f"{day}", day=day, libraries=libraries)]) for day in (1, 2))
    for [study] in (old, new):
        cells, points = study.results.cells, study.results.ceilings
        far = msgspec.structs.replace(cells[0].place, path="far")
        study.results.cells = cells + [msgspec.structs.replace(cell, place=far) for cell in cells]
        study.results.ceilings = points + [msgspec.structs.replace(p, place=far) for p in points]
    results = new[0].results
    results.cells = [
        cell for cell in results.cells if (cell.who.library, cell.place.path) not in gone
    ]
    results.ceilings = [
        ceiling for ceiling in results.ceilings if ("", ceiling.place.path) not in gone
    ]
    found = compare(old, new, 0.05)
    assert {(missing.who.library, missing.place.path) for missing in found.missing} == gone
    assert {missing.lacks for missing in found.missing} == {lacks}


def test_a_benchmark_that_is_gone_is_named(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    results = new[0].results
    results.cells = [cell for cell in results.cells if cell.case.benchmark != "bw"]
    results.ceilings = [ceiling for ceiling in results.ceilings if ceiling.case.benchmark != "bw"]
    found = compare(old, new, 0.05)
    assert {(missing.who, missing.curve.benchmark, missing.lacks) for missing in found.missing} == {
        (Who("alpha"), "bw", "benchmark"),
        (CEILING, "bw", "benchmark"),
    }


def test_what_a_budget_left_out_is_named_as_such(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    results = new[0].results
    results.cells = [cell for cell in results.cells if cell.case.benchmark != "bw"]
    results.ceilings = [each for each in results.ceilings if each.case.benchmark != "bw"]
    results.left_out = [
        LeftOut(kind="benchmark", name="bw", why="", benchmarks=["bw"], budget_seconds=700.0)
    ]
    found = compare(old, new, 0.05)
    assert {missing.budget_seconds for missing in found.missing} == {700.0}
    left = "benchmark bw (left out by the budget: --budget 11m40s has it)"
    assert wording.missing(found) == [left]
    assert left in wording.conclusion(found)
    found.missing.append(msgspec.structs.replace(found.missing[0], budget_seconds=None))
    assert wording.missing(found) == ["benchmark bw"]  # not all of it


def test_cells_that_could_not_be_measured_are_missing(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    for cell in new[0].results.cells:
        if cell.case.benchmark == "bw":
            cell.median, cell.status = None, "skipped"
    found = compare(old, new, 0.05)
    assert [(missing.who, missing.curve.benchmark) for missing in found.missing] == [
        (Who("alpha"), "bw")
    ]


def test_sizes_alone_may_be_others(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    results = new[0].results
    results.cells = [cell for cell in results.cells if cell.case.x != 4096]
    found = compare(old, new, 0.05)
    assert (found.missing, found.regressed) == ([], False)
    [unmatched] = found.unmatched
    assert (unmatched.cases, unmatched.why) == (2, "only the old side has it")


def test_another_window_is_another_measurement(make_sides: MakeSides) -> None:
    sides = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    for study in sides[1]:
        for cell in study.results.cells:
            if cell.case.benchmark == "bw":
                cell.window = 1
    found = compare(*sides, 0.05)
    [unmatched] = found.unmatched
    assert (unmatched.cases, unmatched.why) == (
        3,
        "measured with different numbers of messages in flight",
    )


def test_nothing_in_common_is_an_error(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    for study in new:
        study.results.cells, study.results.ceilings = [], []
    with pytest.raises(UserError, match="have nothing in common: compare studies of the same"):
        compare(old, new, 0.05)


def test_what_is_slower_has_inherited_variables_as_its_possible_reason(
    make_sides: MakeSides,
) -> None:
    variables = {"MPIR_CVAR_NOLOCAL": "1", "OMPI_MCA_btl": "tcp"}
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    slower, alike = (
        load_side(
            [
                make_sides(f"{name}{day}", day=day, factor=factor, variables=variables)
                for day in (4, 5, 6)
            ]
        )
        for name, factor in (("slower", 0.8), ("alike", 1.0))
    )
    found = compare(old, slower, 0.05)
    assert [place.reasons for place in found.places] == [["MPIR_CVAR_NOLOCAL"], []]
    assert all(not place.reasons for place in compare(old, alike, 0.05).places)


def test_sessions_are_in_the_order_of_their_start(make_sides: MakeSides) -> None:
    days = [(5, "a"), (1, "b"), (3, "c")]
    old = [make_sides(name, day=day, factor=day) for day, name in days]
    found = compare(load_side(old), load_side([make_sides("new", day=7)]), 0.05)
    assert [session.started for session in found.sessions] == [
        f"2026-01-0{day}" for day in (1, 3, 5, 7)
    ]
    history = [value for value in found.libraries[0].change.history if value is not None]
    assert history[:3] == sorted(history[:3])
