# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML, for CI systems: a suite for each place, a test case for each curve.

A test fails if its curve, or a size of it, regressed, or if the new side did not measure it; it is
skipped if it is undecided or allowed to be missing. Failures have their own tests. Each difference
between the sides has a test that passes, with its values as output.
"""

from collections.abc import Iterator

from nearpeak.compare.compared import (
    Change,
    Compared,
    CurveChange,
    Difference,
    Failing,
    Missing,
    PlaceChange,
)
from nearpeak.document import junit
from nearpeak.document.junit import Outcome
from nearpeak.numbers import extent, number, unit
from nearpeak.report.compared import words
from nearpeak.results.names import label
from nearpeak.statistics.verdicts import UNDECIDED
from nearpeak.terms.identity import Place


def to_junit(compared: Compared) -> str:
    """Returns the whole file."""
    failing = [failure.place for failure in compared.failures]
    missing = [missing.place for missing in compared.missing]
    places = dict.fromkeys([*(place.place for place in compared.places), *failing, *missing])
    suites = [(place.path, list(_tests(compared, place))) for place in places]
    if compared.differences:
        suites.insert(
            0, ("differences", [_difference(difference) for difference in compared.differences])
        )
    return junit.to_junit("nearpeak compare", suites)


def _difference(difference: Difference) -> Outcome:
    return Outcome(
        "differences", f"{difference.part} {difference.name}", said=words.values(difference)
    )


def _tests(compared: Compared, place: Place) -> Iterator[Outcome]:
    for change in compared.places:
        if change.place == place:
            yield from _place_tests(change, words.possible_reason(change, compared))
    for curve in compared.missing:
        if curve.place == place:
            yield _missing(curve, allowed=compared.allow_missing)
    for failing in compared.failures:
        if failing.place == place:
            yield _failing(failing)


def _place_tests(change: PlaceChange, reason: str) -> Iterator[Outcome]:
    name = change.who.label
    yield _test(name, "all curves", change.change, [], reason)
    for curve in change.curves:
        yield _test(name, label(curve.curve), curve.change, _regressed(curve), reason)


def _regressed(curve: CurveChange) -> list[str]:
    """A line for each size that regressed."""
    return [
        f"{extent(cell.case.x, cell.x_unit)}: {number(cell.old)} -> {number(cell.new)}"
        f" {unit(cell.unit)}, {words.sentence(cell.change)}"
        for cell in curve.cells
        if cell.change.regressed
    ]


def _test(who: str, name: str, change: Change, sizes: list[str], reason: str) -> Outcome:
    sentence = words.sentence(change)
    if change.regressed or sizes:
        failure = sentence if change.regressed else sizes[0]
        reasons = [f"Possible reason: {reason}"] if reason else []
        return Outcome(who, name, failure, kind="regression", details="\n".join([*sizes, *reasons]))
    return Outcome(who, name, skipped=sentence if change.verdict == UNDECIDED else "")


def _failing(failing: Failing) -> Outcome:
    [sentence] = words.failures([failing])
    if failing.regressed:
        return Outcome("failures", words.subject(failing), failure=sentence, kind="failing")
    return Outcome("failures", words.subject(failing), skipped=sentence)


def _missing(missing: Missing, *, allowed: bool) -> Outcome:
    message = "measured before, not now"
    who, name = missing.who.label, label(missing.curve)
    if missing.failed:
        return Outcome(who, name, skipped=f"{message}: its launches failed")
    if allowed:
        return Outcome(who, name, skipped=message)
    return Outcome(who, name, failure=message, kind="missing")
