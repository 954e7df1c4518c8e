# SPDX-License-Identifier: Apache-2.0
"""Events: which parts are named."""

import copy
from collections.abc import Iterable
from pathlib import Path

import pytest

from nearpeak.compare.load import load_side
from nearpeak.console import PlainConsole
from nearpeak.document.terminal import print_document
from nearpeak.history import wording
from nearpeak.history.build import build
from nearpeak.history.courses import Course, History, Step
from nearpeak.history.events import events
from nearpeak.history.present import present

AT = 19


@pytest.fixture(scope="module")
def judged(nightly: Path) -> History:
    return build(load_side([nightly]), 0.05)


@pytest.fixture
def history(judged: History) -> History:
    return copy.deepcopy(judged)


def changed(course: Course, ratio: float, *, significant: bool = True) -> None:
    """Gives a course a change, instead of its own."""
    course.values = [
        value and (ratio if index >= AT else 1) for index, value in enumerate(course.values)
    ]
    verdict = "slower" if ratio < 1 else "faster"
    step = Step(
        session=AT,
        first=AT,
        last=AT,
        ratio=ratio,
        ratio_now=ratio,
        p_adjusted=0.001,
        verdict=verdict,
        regressed=ratio < 1,
    )
    course.steps = [step] if significant else []


def named(history: History) -> list[str]:
    history.events = events(history)
    return [
        wording.subject(part, history).partition("same-numa")[2] for part in history.events[0].parts
    ]


def without_changes(courses: Iterable[Course]) -> None:
    for course in courses:
        course.steps = []


def test_a_place_that_changed_without_any_of_its_cases_is_shown(history: History) -> None:
    [alpha] = history.libraries
    without_changes(course for course in alpha.courses if course is not alpha.course)
    assert named(history) == [""]
    print_document(present(history), None, PlainConsole(), verbose=True)


def test_curves_that_changed_in_opposite_directions_are_named_each(history: History) -> None:
    [alpha] = history.libraries
    without_changes(alpha.courses)
    changed(alpha.course, 0.76)
    for curve, ratio in zip(alpha.curves, (0.5, 1.15), strict=True):
        changed(curve.course, ratio)
        for case in curve.cases:
            changed(case.course, ratio, significant=False)
    assert named(history) == [", latency", ", bw"]


def test_a_curve_that_changed_alone_is_named_instead_of_its_place(history: History) -> None:
    [alpha] = history.libraries
    without_changes(alpha.courses)
    changed(alpha.course, 0.8)
    changed(alpha.curves[0].course, 0.64)
    changed(alpha.curves[1].course, 0.99, significant=False)
    for case in alpha.curves[0].cases:
        changed(case.course, 0.64, significant=False)
    assert named(history) == [", latency"]
