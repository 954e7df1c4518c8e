# SPDX-License-Identifier: Apache-2.0
"""Builds history.json from studies."""

import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

import nearpeak
from nearpeak.arrays import Floats
from nearpeak.compare.compared import Measured
from nearpeak.compare.load import Skipped, Study
from nearpeak.compare.sessions import measured
from nearpeak.errors import UserError
from nearpeak.grouping import grouped
from nearpeak.history import facts, failures
from nearpeak.history.courses import (
    SCHEMA,
    CaseCourse,
    Course,
    CurveCourse,
    Gone,
    History,
    LeftOut,
    PlaceCourse,
)
from nearpeak.history.events import events
from nearpeak.history.figures import CaseRow, CurveRow, PlaceRow, rows
from nearpeak.history.levels import course
from nearpeak.statistics import change_points
from nearpeak.statistics.comparisons import SIGN
from nearpeak.terms.identity import CEILING

_PLACES, _PARTS = 0, 1  # families of rows, each of which has a share of the error rate


def build(
    studies: Sequence[Study], tolerance: float, since: str = "", skipped: Iterable[Skipped] = ()
) -> History:
    """Judges the history of studies.

    `tolerance`: smaller changes are not reported; `since`: changes before this instant, ISO 8601 in
    UTC, are no regressions; `skipped`: folders that could not be read.

    Raises:
        UserError: nothing was measured.
    """
    by_study = measured(studies, attempted=True)
    numbers = {key: number for number, key in enumerate(by_study)}
    sessions = list(by_study.values())
    places, restarted = rows(studies, numbers) if numbers else ([], [])
    if not places:
        raise UserError("no study here has a figure: give folders that `nearpeak study` completed")
    flat = list(_flat(places))
    table = np.array([row for row, _ in flat])
    changed = facts.changes(studies, numbers)
    changes = _changes(table, [family for _, family in flat])
    first = _first_that_counts(sessions, since)
    courses = [
        course(row, changes.get(index, []), tolerance, first) for index, row in enumerate(table)
    ]
    taken = iter(courses)
    judged = [_place(place, taken) for place in places]
    history = History(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        tolerance=tolerance,
        error_rate=change_points.LEVEL,
        since=since,
        sessions=sessions,
        correlation=change_points.correlation(np.array([place.row for place in places])),
        facts=changed,
        libraries=[place for place in judged if place.who != CEILING],
        ceilings=[place for place in judged if place.who == CEILING],
        events=[],
        failures=failures.find(studies, numbers, changed, first),
        restarted=restarted,
        left_out=[
            LeftOut(folder=_utf8(str(folder)), why=_utf8(reason)) for folder, reason in skipped
        ],
        gone=list(_gone(judged)),
        judged=bool(((~np.isnan(table)).sum(axis=1) >= change_points.FEWEST).any()),
        seen_after=change_points.seen_after(len(sessions)),
    )
    history.events = events(history)
    return history


def to_json(history: History) -> str:
    """The text of history.json."""
    return msgspec.json.format(msgspec.json.encode(history), indent=1).decode() + "\n"


def _utf8(text: str) -> str:
    """The text with what is no UTF-8 in it replaced: names of folders may have any bytes."""
    return os.fsencode(text).decode(errors="replace")


def _first_that_counts(sessions: Sequence[Measured], since: str) -> int:
    """Returns the first session that began at `since` or later."""
    return sum(session.started < since for session in sessions)


def _flat(places: Iterable[PlaceRow]) -> Iterator[tuple[Floats, int]]:
    """Yields each row with its family, in the order of `History.parts`."""
    for place in places:
        yield place.row, _PLACES
        for curve in place.curves:
            yield curve.row, _PARTS
            yield from ((case.row, _PARTS) for case in curve.cases)


def _changes(table: Floats, families: Sequence[int]) -> dict[int, list[change_points.Step]]:
    """Returns the changes of each row, however small."""
    return grouped(change_points.find(table, families), lambda step: step.row)


def _place(place: PlaceRow, courses: Iterator[Course]) -> PlaceCourse:
    """Takes the courses of a place in the order of `_flat`."""
    who, path = place.owner
    of_place = next(courses)
    curves = [_curve(curve, courses) for curve in place.curves]
    return PlaceCourse(who=who, place=path, course=of_place, curves=curves)


def _curve(curve: CurveRow, courses: Iterator[Course]) -> CurveCourse:
    of_curve = next(courses)
    cases = [_case(case, next(courses)) for case in curve.cases]
    return CurveCourse(curve=curve.curve, course=of_curve, cases=cases)


def _case(case: CaseRow, of_case: Course) -> CaseCourse:
    sign = SIGN[case.kind.better]
    figures = [None if np.isnan(value) else float(np.exp(sign * value)) for value in case.row]
    return CaseCourse(
        case=case.case,
        x_unit=case.kind.x_unit,
        unit=case.kind.unit,
        course=of_case,
        figures=figures,
    )


def _gone(places: Iterable[PlaceCourse]) -> Iterator[Gone]:
    """Yields the curves, or the sizes of one, without a value in the newest session."""
    for place in places:
        for curve in place.curves:
            lost = [cell for cell in curve.cases if cell.course.values[-1] is None]
            if lost:
                yield Gone(
                    who=place.who,
                    place=place.place,
                    curve=curve.curve,
                    sizes=[cell.case.x for cell in lost] if len(lost) < len(curve.cases) else [],
                    x_unit=lost[0].x_unit,
                    session=max(_last_measured(cell.course) for cell in lost),
                )


def _last_measured(course: Course) -> int:
    values = course.values
    return max((number for number, value in enumerate(values) if value is not None), default=-1)
