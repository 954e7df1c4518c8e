# SPDX-License-Identifier: Apache-2.0
"""Builds history.json from studies."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import msgspec
import numpy as np

import nearpeak
from nearpeak.arrays import Floats
from nearpeak.compare.compared import Measured
from nearpeak.compare.load import Study
from nearpeak.compare.sessions import measured
from nearpeak.errors import UserError
from nearpeak.grouping import collected, grouped
from nearpeak.history import facts
from nearpeak.history.courses import (
    SCHEMA,
    CaseCourse,
    Course,
    CurveCourse,
    Event,
    Fact,
    Gone,
    History,
    Key,
    Part,
    PlaceCourse,
    Step,
)
from nearpeak.history.figures import CaseRow, CurveRow, PlaceRow, rows
from nearpeak.statistics import change_points
from nearpeak.statistics.comparisons import SIGN
from nearpeak.statistics.verdicts import FASTER, SLOWER
from nearpeak.terms.identity import CEILING

_PLACES, _PARTS = 0, 1  # families of rows, each of which has a share of the error rate
_BESIDE = 1  # sessions beside a step: a disturbed one there looks as if it were of the other level
_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


def build(studies: Sequence[Study], tolerance: float, since: str = "") -> History:
    """Judges the history of studies.

    `tolerance`: smaller changes are not reported; `since`: changes before this instant, ISO 8601 in
    UTC, are no regressions.

    Raises:
        UserError: nothing was measured.
    """
    by_study = measured(studies)
    numbers = {key: number for number, key in enumerate(by_study)}
    sessions = list(by_study.values())
    places = rows(studies, numbers) if numbers else []
    if not places:
        raise UserError("no study here has a figure: give folders that `nearpeak study` completed")
    flat = list(_flat(places))
    table = np.array([row for row, _ in flat])
    steps = _steps(table, [family for _, family in flat], tolerance)
    courses = [
        _course(row, steps.get(index, []), _first_that_counts(sessions, since))
        for index, row in enumerate(table)
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
        correlation=change_points.correlation(table),
        facts=facts.changes(studies, numbers),
        libraries=[place for place in judged if place.who != CEILING],
        ceilings=[place for place in judged if place.who == CEILING],
        events=[],
        gone=list(_gone(judged)),
        judged=bool(((~np.isnan(table)).sum(axis=1) >= change_points.FEWEST).any()),
    )
    history.events = _events(history)
    return history


def to_json(history: History) -> str:
    """The text of history.json."""
    return msgspec.json.format(msgspec.json.encode(history), indent=1).decode() + "\n"


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


def _steps(
    table: Floats, families: Sequence[int], tolerance: float
) -> dict[int, list[change_points.Step]]:
    """Returns the changes of each row that are larger than the tolerance."""
    steps = change_points.find(table, families)
    large = [step for step in steps if abs(step.shift) > math.log1p(tolerance)]
    return grouped(large, lambda step: step.row)


def _course(row: Floats, steps: Sequence[change_points.Step], first_that_counts: int) -> Course:
    values = row[~np.isnan(row)]
    ends = [0, *(step.at for step in steps), len(row)]
    levels = [row[start:end] for start, end in pairwise(ends)]
    usual = float(np.nanmedian(levels[0])) if not np.isnan(levels[0]).all() else values[0]
    off = np.concatenate([level - np.nanmedian(level) for level in levels if _measured(level)])
    enough = len(values) >= change_points.FEWEST
    last = steps[-1] if steps else None
    return Course(
        values=[None if np.isnan(value) else float(np.exp(value - usual)) for value in row],
        steps=list(map(_step, steps)),
        scatter=_MAD * float(np.nanmedian(np.abs(off))) if enough else None,
        regressed=last is not None and last.shift < 0 and last.at >= first_that_counts,
    )


def _measured(level: Floats) -> bool:
    return not bool(np.isnan(level).all())


def _step(step: change_points.Step) -> Step:
    return Step(
        session=step.at,
        first=step.possible[0],
        last=step.possible[1],
        ratio=math.exp(step.shift),
        p_adjusted=step.p_adjusted,
        verdict=FASTER if step.shift > 0 else SLOWER,
    )


def _place(place: PlaceRow, courses: Iterator[Course]) -> PlaceCourse:
    """Takes the courses of a place in the order of `_flat`."""
    who, path = place.owner
    course = next(courses)
    curves = [_curve(curve, courses) for curve in place.curves]
    return PlaceCourse(who=who, place=path, course=course, curves=curves)


def _curve(curve: CurveRow, courses: Iterator[Course]) -> CurveCourse:
    course = next(courses)
    cases = [_case(case, next(courses)) for case in curve.cases]
    return CurveCourse(curve=curve.curve, course=course, cases=cases)


def _case(case: CaseRow, course: Course) -> CaseCourse:
    sign = SIGN[case.kind.better]
    figures = [None if np.isnan(value) else float(np.exp(sign * value)) for value in case.row]
    return CaseCourse(
        case=case.case,
        x_unit=case.kind.x_unit,
        unit=case.kind.unit,
        course=course,
        figures=figures,
    )


def _gone(places: Iterable[PlaceCourse]) -> Iterator[Gone]:
    """Yields the curves without a value in the newest session."""
    for place in places:
        for curve in place.curves:
            values = curve.course.values
            measured = [number for number, value in enumerate(values) if value is not None]
            if measured and measured[-1] < len(values) - 1:
                yield Gone(
                    who=place.who, place=place.place, curve=curve.curve, session=measured[-1]
                )


def _events(history: History) -> list[Event]:
    """Groups all steps by their session, and adds what changed then."""
    steps = collected(
        (step.session, (key, course, step))
        for key, course in history.parts()
        for step in course.steps
    )
    rarity = Counter((fact.part, fact.name) for fact in history.facts)
    events = [_event(session, changed, history, rarity) for session, changed in steps.items()]
    return sorted(events, key=lambda event: (not event.regressed, -event.session))


def _event(
    session: int,
    changed: Sequence[tuple[Key, Course, Step]],
    history: History,
    rarity: Mapping[tuple[str, str], int],
) -> Event:
    clearest = min((step for _, _, step in changed), key=lambda step: step.last - step.first)
    verdicts = Counter(step.verdict for key, _, step in changed if key[3] is not None)
    parts = list(_widest(changed))
    candidates = [
        fact
        for fact in history.facts
        if clearest.first - _BESIDE <= fact.session <= clearest.last + _BESIDE
        and any(facts.concerns(fact, part.who) for part in parts)
    ]
    nearest = partial(_nearness, session=session, rarity=rarity)
    return Event(
        session=session,
        first=clearest.first,
        last=clearest.last,
        slower=verdicts[SLOWER],
        faster=verdicts[FASTER],
        parts=sorted(parts, key=lambda part: (not part.regressed, part.ratio)),
        candidates=sorted(candidates, key=nearest),
    )


def _nearness(fact: Fact, session: int, rarity: Mapping[tuple[str, str], int]) -> tuple[int, int]:
    """Sorts first a fact that rarely changes, then one that changed near the session."""
    return rarity[fact.part, fact.name], abs(fact.session - session)


def _widest(steps: Iterable[tuple[Key, Course, Step]]) -> Iterator[Part]:
    """Yields what changed, without the parts of what already changed as a whole."""
    changed: set[Key] = set()
    for (who, place, curve, case), course, step in steps:
        changed.add((who, place, curve, case))
        wider = {(who, place, None, None), (who, place, curve, None)} - {(who, place, curve, case)}
        if not wider & changed:
            regressed = course.regressed and step is course.steps[-1]
            yield Part(
                who=who,
                place=place,
                curve=curve,
                case=case,
                ratio=step.ratio,
                regressed=regressed,
            )
