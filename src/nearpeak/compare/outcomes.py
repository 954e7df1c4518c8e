# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML, for CI systems: a suite for each place, a test case for each curve.

A test fails if its curve, or a size of it, regressed, or if the new side did not measure it; it is
skipped if it is undecided or allowed to be missing. Failures have their own tests. Each difference
between the sides has a test that passes, with its values as output.
"""

from collections.abc import Iterator

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
from nearpeak.numbers import extent, interval, number, probability
from nearpeak.results.names import label
from nearpeak.statistics.verdicts import UNDECIDED
from nearpeak.terms.identity import Place


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
    for change in compared.places:
        if change.place == place:
            yield from _place_tests(change, wording.possible_reason(change, compared))
    for curve in compared.missing:
        if curve.place == place:
            yield _missing(curve, allowed=compared.allow_missing)
    for failing in compared.failures:
        if failing.place == place:
            yield _failing(failing)


def _place_tests(place: PlaceChange, reason: str) -> Iterator[Outcome]:
    name = place.who.label
    yield _test(name, "all curves", place.change, [], reason)
    for curve in place.curves:
        sizes = list(_regressed_sizes(curve))
        yield _test(name, label(curve.curve), curve.change, sizes, reason)


def _regressed_sizes(curve: CurveChange) -> Iterator[str]:
    for cell in curve.cells:
        if cell.change.regressed:
            size = extent(cell.case.x, cell.x_unit)
            yield f"{size}: {wording.figures(cell)}, {_sentence(cell.change)}"


def _sentence(change: Change) -> str:
    """The verdict on a change with its figures."""
    lacks = f" ({wording.verdict(change)})" if change.lacks else ""
    ratio = f"{number(change.ratio)} {interval(change.ci95)}".rstrip()
    return f"{change.verdict}{lacks}, new/old {ratio}, adjusted p {probability(change.p_adjusted)}"


def _test(who: str, name: str, change: Change, sizes: list[str], reason: str) -> Outcome:
    sentence = _sentence(change)
    if change.regressed or sizes:
        failure = sentence if change.regressed else sizes[0]
        reasons = [f"Possible reason: {reason}"] if reason else []
        return Outcome(who, name, failure, kind="regression", details="\n".join([*sizes, *reasons]))
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
