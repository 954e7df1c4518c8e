# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML, for CI systems: a suite for each place, a test case for each curve.

A test fails if its curve, or a size of it, regressed, or if the new side did not measure it; it is
skipped if it is undecided or allowed to be missing. Failures have their own tests. Each difference
between the sides has a test that passes, with its values as output.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from nearpeak.compare import wording
from nearpeak.compare.compared import (
    Change,
    Compared,
    CurveChange,
    Failing,
    Missing,
    PlaceChange,
)
from nearpeak.document import junit
from nearpeak.document.junit import Outcome
from nearpeak.numbers import extent, in_brackets, interval, number, probability
from nearpeak.results.names import label
from nearpeak.statistics.verdicts import UNDECIDED
from nearpeak.terms.identity import Place

T = TypeVar("T", PlaceChange, Failing, Missing)


def to_junit(compared: Compared) -> str:
    """Returns the whole file."""
    parts: list[PlaceChange | Failing | Missing] = [
        *compared.places,
        *compared.failures,
        *compared.missing,
    ]
    places = dict.fromkeys(part.place for part in parts)
    suites = [(place.path, _tests(compared, place)) for place in places]
    if compared.differences:
        suites.insert(0, ("differences", _differences(compared)))
    return junit.to_junit("nearpeak compare", suites)


def _differences(compared: Compared) -> Iterator[Outcome]:
    for one in compared.differences:
        yield Outcome("differences", f"{one.part} {one.name}", said=wording.values(one))


def _tests(compared: Compared, place: Place) -> Iterator[Outcome]:
    for change in _at(place, compared.places):
        yield from _place_tests(change, wording.possible_reason(change, compared))
    for curve in _at(place, compared.missing):
        yield _missing(curve, allowed=compared.allow_missing)
    yield from map(_failing, _at(place, compared.failures))


def _at(place: Place, parts: Iterable[T]) -> list[T]:
    return [part for part in parts if part.place == place]


def _place_tests(place: PlaceChange, reason: str) -> Iterator[Outcome]:
    name = place.who.label
    yield _test(name, "all curves", place.change, [], reason)
    for curve in place.curves:
        yield _test(name, label(curve.curve), curve.change, _regressed_sizes(curve), reason)


def _regressed_sizes(curve: CurveChange) -> list[str]:
    return [
        f"{extent(cell.case.x, cell.x_unit)}: {wording.figures(cell)}, {_sentence(cell.change)}"
        for cell in curve.cells
        if cell.change.regressed
    ]


def _sentence(change: Change) -> str:
    """The verdict on a change with its figures."""
    lacks = in_brackets(change.lacks and wording.verdict(change))
    ratio = f"{number(change.ratio)} {interval(change.ci95)}".rstrip()
    return f"{change.verdict}{lacks}, new/old {ratio}, adjusted p {probability(change.p_adjusted)}"


def _test(who: str, name: str, change: Change, sizes: list[str], reason: str) -> Outcome:
    sentence = _sentence(change)
    failures = [sentence] * change.regressed + sizes
    if failures:
        reasons = [f"Possible reason: {reason}"] if reason else []
        details = "\n".join([*sizes, *reasons])
        return Outcome(who, name, failures[0], kind="regression", details=details)
    return Outcome(who, name, skipped=sentence if change.verdict == UNDECIDED else "")


def _failing(failing: Failing) -> Outcome:
    name, text = wording.failing_subject(failing), wording.failure(failing)
    if failing.regressed:
        return Outcome("failures", name, failure=text, kind="failing")
    return Outcome("failures", name, skipped=text)


def _missing(missing: Missing, *, allowed: bool) -> Outcome:
    message = "measured before, not now"
    who, name = missing.who.label, label(missing.curve)
    if missing.failed:
        return Outcome(who, name, skipped=f"{message}: its launches failed")
    if allowed:
        return Outcome(who, name, skipped=message)
    return Outcome(who, name, failure=message, kind="missing")
