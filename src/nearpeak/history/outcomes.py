# SPDX-License-Identifier: Apache-2.0
"""A history as JUnit XML, for CI systems: a suite for each path, a test case for each curve.

A test fails if its curve, or a case of it, became slower and still is; it is skipped if it has too
few sessions, or if the newest session lacks it. Failures have their own tests. What changed
in the newest session has tests that pass, with the values as output.
"""

from collections.abc import Iterable, Iterator

from nearpeak.document import junit
from nearpeak.document.junit import Outcome
from nearpeak.grouping import grouped
from nearpeak.history import wording
from nearpeak.history.courses import Course, CurveCourse, Failing, History, PlaceCourse, Step
from nearpeak.numbers import extent, number, probability
from nearpeak.results.names import label


def to_junit(history: History) -> str:
    """Returns the whole file."""
    places = grouped(history.places, lambda place: place.place.path)
    failures = grouped(history.failures, lambda failing: failing.place.path)
    paths = dict.fromkeys([*places, *failures])
    suites = [
        (
            path,
            [
                *_tests(history, places.get(path, [])),
                *(_failing(failing, history) for failing in failures.get(path, [])),
            ],
        )
        for path in paths
    ]
    if facts := list(_facts(history)):
        suites.insert(0, ("changes", facts))
    return junit.to_junit("nearpeak history", suites)


def _failing(failing: Failing, history: History) -> Outcome:
    name, text = wording.failing_subject(failing), wording.failure(failing, history)
    if failing.regressed:
        return Outcome("failures", name, failure=f"failed since {text}", kind="failing")
    return Outcome("failures", name, skipped=f"accepted: failed since {text}")


def _facts(history: History) -> Iterator[Outcome]:
    """Yields what changed in the newest session."""
    for fact in history.facts:
        if fact.session == len(history.sessions) - 1:
            yield Outcome("changes", f"{fact.part} {fact.name}", said=wording.fact(fact))


def _tests(history: History, places: Iterable[PlaceCourse]) -> Iterator[Outcome]:
    for place in places:
        yield _test(history, place.who.label, "all curves", place.course, [])
        for curve in place.curves:
            yield _test(
                history, place.who.label, label(curve.curve), curve.course, _sizes(curve, history)
            )


def _sizes(curve: CurveCourse, history: History) -> list[str]:
    return [
        f"{extent(case.case.x, case.x_unit)}:"
        f" {wording.figures(case, *case.course.around(step.session))}, {_sentence(step, history)}"
        for case in curve.cases
        if (step := case.course.decisive) and step.regressed
    ]


def _sentence(step: Step, history: History) -> str:
    return (
        f"{step.verdict} since {wording.started(history, step.session)}, new/old"
        f" {number(step.ratio_now)}, adjusted p {probability(step.p_adjusted)}"
    )


def _test(history: History, who: str, name: str, course: Course, sizes: list[str]) -> Outcome:
    step = course.decisive
    failures = ([_sentence(step, history)] if step and step.regressed else []) + sizes
    if failures:
        details = "\n".join([*sizes, *_reasons(course, history)])
        return Outcome(who, name, failures[0], kind="regression", details=details)
    if course.values[-1] is None:
        return Outcome(who, name, skipped="not measured in the newest session")
    return Outcome(who, name, skipped="" if course.scatter is not None else "too few sessions")


def _reasons(course: Course, history: History) -> Iterator[str]:
    """Yields what changed when a course became slower."""
    sessions = {step.session for step in course.steps if step.regressed}
    for event in history.events:
        if event.session in sessions and (reasons := wording.reasons(event.candidates)):
            yield f"Possible reason: {reasons}"
