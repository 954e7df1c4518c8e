# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: what a reader should do, from what was found."""

from collections import Counter
from collections.abc import Iterator

from nearpeak.identity import CEILING, Who
from nearpeak.numbers import count, percent, size
from nearpeak.report.headlines import Group
from nearpeak.report.summary import table_one
from nearpeak.report.wording import health
from nearpeak.results.cells import FEWEST, is_defect
from nearpeak.results.model import Cell, Results
from nearpeak.results.names import case, reference

NEAR = 0.8  # of the ceiling: a library that is never below leaves nothing to do


def advice(results: Results, found: list[Group]) -> list[str]:
    """What a reader should do, the first things first."""
    return [
        *_failed_words(results),
        *map(health, (row for row in table_one(results) if row.suspect)),
        *(_best_remedy(results) or _without_findings(results, found)),
    ]


def _failed_words(results: Results) -> Iterator[str]:
    who = Counter(one.who.label for one in results.failures if one.who != CEILING)
    if who:
        names = ", ".join(f"{label} ({count(times, 'launch')})" for label, times in who.items())
        yield f"Find out first why launches failed: {names}."


def _best_remedy(results: Results) -> list[str]:
    """The finding that loses most of those that have an interval, and its remedy."""
    for finding in results.findings:
        if finding.sure:
            words = ["Largest loss:", finding.sentence, finding.remedy]
            return [" ".join(filter(None, words))]
    return []


def _without_findings(results: Results, found: list[Group]) -> Iterator[str]:
    native = {info.name for info in results.libraries if info.native}
    cells = [
        reached.cell
        for group in found
        for row in group.rows
        if row.staging is None and row.who.library not in native
        for reached in row.reached.values()
        if reached.cell.fraction is not None and not is_defect(reached.cell)
        # What is far from a bound may be as good as can be.
        if reference(reached.cell.ceiling) == "ceiling"
    ]
    if not cells:
        return
    if any(cell.launches < FEWEST for cell in cells):
        yield f"Measure more before changing anything: an interval needs {FEWEST} launches."
        return
    worst: dict[Who, Cell] = {}
    for cell in cells:
        known = worst.get(cell.who, cell)
        worst[cell.who] = min(known, cell, key=lambda one: one.fraction or 0.0)
    who, cell = max(worst.items(), key=lambda item: item[1].fraction or 0.0)
    reached = cell.fraction or 0.0
    if reached >= NEAR:
        yield (
            f"Nothing to do: {who.label} is within {percent(1 - reached)} % of the ceiling"
            " everywhere."
        )
        return
    yield (
        f"Nothing that was measured beats {who.label}, which reaches {percent(reached)} % of the"
        f" ceiling on {cell.place.path} in {case(cell.case)} at {size(cell.case.x)}: try other"
        f" settings or libraries."
    )
