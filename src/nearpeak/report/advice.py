# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: what a reader should do, from what was found."""

from collections import Counter
from collections.abc import Iterator

from nearpeak.numbers import count, percent, size
from nearpeak.report.findings import sentence
from nearpeak.report.headlines import Figure, Group
from nearpeak.report.summary import table_one
from nearpeak.report.wording import best_words, health
from nearpeak.results.cells import FEWEST
from nearpeak.results.names import case, reference
from nearpeak.results.results import Cell, Results
from nearpeak.terms.identity import CEILING

NEAR = 0.8  # of the ceiling: a library that is never below leaves nothing to do


def advice(results: Results, found: list[Group]) -> list[str]:
    """What a reader should do, the first things first."""
    return [
        *_failed_words(results),
        *map(health, (row for row in table_one(results) if row.suspect)),
        *(_best_remedy(results) or _without_findings(found)),
    ]


def _failed_words(results: Results) -> Iterator[str]:
    who = Counter(one.who.label for one in results.failures if one.who != CEILING)
    if who:
        names = ", ".join(f"{label} ({count(times, 'launch')})" for label, times in who.items())
        yield f"First find out why launches failed: {names}."


def _best_remedy(results: Results) -> list[str]:
    """The finding that loses most of those that have an interval, and its remedy."""
    for finding in results.findings:
        if finding.sure:
            return [f"Largest loss: {sentence(finding)} {finding.remedy.text}"]
    return []


def _without_findings(found: list[Group]) -> Iterator[str]:
    """From the best of each headline: how near all of them are, or which one is furthest."""
    figures = [
        figure
        for group in found
        for figure in group.figures.values()
        # What is far from a bound may be as good as can be.
        if figure.best is not None
        and figure.best.fraction is not None
        and reference(figure.best.ceiling) == "ceiling"
    ]
    if not figures:
        return
    if any(cell.launches < FEWEST for cell in _shown(found)):
        yield f"Measure more before changing anything: an interval needs {FEWEST} launches."
        return
    furthest = min(figures, key=_reached)
    missing = percent(1 - _reached(furthest))
    if _reached(furthest) >= NEAR:
        headlines = [figure.headline for figure in figures]
        everywhere = set.intersection(*({one.best, *one.tied} for one in headlines))
        who = [one.best.label for one in headlines if one.best and one.best in everywhere]
        name = who[0] if who else "the best library of each path"
        yield f"Nothing to do: {name} is within {missing} % of the ceiling everywhere."
        return
    yield (
        f"No library comes near the ceiling on {furthest.headline.place.path} in"
        f" {case(furthest.case)} at {size(furthest.case.x)}: the best one,"
        f" {best_words(furthest.headline)}, reaches {percent(_reached(furthest))} % of it."
        " Try other settings or libraries."
    )


def _shown(found: list[Group]) -> Iterator[Cell]:
    """What libraries reach themselves, but for what has no number."""
    for group in found:
        for row in group.rows:
            if row.staging is None:
                yield from (cell for cell in row.reached.values() if cell.median is not None)


def _reached(figure: Figure) -> float:
    """By the best one, of the ceiling."""
    return (figure.best and figure.best.fraction) or 0.0
