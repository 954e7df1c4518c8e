# SPDX-License-Identifier: Apache-2.0
"""Advice for the reader, from the findings."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from nearpeak.results.ceilings import Ceilings
from nearpeak.results.order import guests, headlines, is_left_out, of_headlines
from nearpeak.results.results import Advice, Cause, CeilingValue, Headline, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.statistics.strata import strata
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import CEILING
from nearpeak.terms.ratings import GOOD

# From the low to the high end of an interval. In a wider one even settings that double a rate could
# not be distinguished from noise: then no settings are advised.
WIDEST = 2.0
ALIKE = 1.15  # times: two figures this close are assumed to use the same method


def advise(results: Results) -> list[Advice]:
    """Advice in order: failures, slow paths, then the largest significant loss.

    Without a loss, the distance of the best libraries from the ceiling.
    """
    return [
        *_failed(results),
        *(
            Advice(kind="path", place=peak.place, case=peak.case, fraction=peak.of_theoretical)
            for peak in results.peaks
            if peak.suspect
        ),
        *(_loss(results) or _without_findings(results)),
    ]


def _failed(results: Results) -> Iterator[Advice]:
    failed = Counter(failure.who for failure in results.failures if failure.who != CEILING)
    for who, launches in failed.items():
        yield Advice(kind="failures", who=who, launches=launches)


def _loss(results: Results) -> list[Advice]:
    """The largest significant loss."""
    for number, finding in enumerate(results.findings):
        if finding.sure and (finding.cost or finding.message):
            who, place, case = finding.who, finding.place, finding.case
            return [Advice(kind="loss", who=who, place=place, case=case, finding=number)]
    return []


def _without_findings(results: Results) -> Iterator[Advice]:
    """Advice from the best library of each headline: all are near the ceiling, or the furthest."""
    shown = [headline for group in headlines(results) for headline in group]
    # Only measured ceilings: far from a bound may still be the best possible.
    measured = [
        headline
        for headline in shown
        if headline.ceiling and headline.ceiling.kind == "measured" and _reached(headline)
    ]
    if not measured:
        return
    if _few_launches(results):
        yield Advice(kind="launches", launches=FEWEST_FOR_INTERVAL)
        return
    precise = [headline for headline in measured if not _scatters(headline)]
    if far := [headline for headline in precise if _reached(headline) < GOOD]:
        furthest = min(far, key=_reached)
        advice = _advice_on("far", furthest)
        advice.like = _like(results, furthest)
        yield advice
        return
    if scattered := [headline for headline in measured if _scatters(headline)]:
        furthest = min(scattered, key=_reached)
        advice = _advice_on("open", furthest)
        advice.fraction_ci95 = furthest.fraction_ci95
        advice.why = list(_causes(results, furthest))
        yield advice
        return
    furthest = min(measured, key=_reached)
    everywhere = set.intersection(*({headline.best, *headline.tied} for headline in measured))
    who = next((headline.best for headline in measured if headline.best in everywhere), None)
    yield Advice(kind="near", who=who, fraction=furthest.fraction)


def _advice_on(kind: Literal["far", "open"], headline: Headline) -> Advice:
    return Advice(
        kind=kind,
        who=headline.best,
        place=headline.place,
        case=headline.case,
        fraction=headline.fraction,
    )


def _like(results: Results, headline: Headline) -> CeilingValue | None:
    """The method of the ceiling, other than the best, whose figure is that of the best library.

    None if its launches had several core-to-core latencies, whose medians do not compare.
    """
    point = Ceilings(results.ceilings).point(headline.place, headline.case)
    if point is None or headline.value is None:
        return None
    if strata([ns for ns in point.cache_line_ns if ns]).any():
        return None
    off = {
        method: abs(math.log(value / headline.value))
        for method, value in point.methods.items()
        if method != point.method
    }
    nearest = min(off, key=off.__getitem__, default=None)
    if nearest is None or off[nearest] > math.log(ALIKE):
        return None
    return CeilingValue(value=point.methods[nearest], method=nearest)


def _scatters(headline: Headline) -> bool:
    """True if the interval of the best library spans `GOOD`, or is too wide to act on."""
    if headline.fraction_ci95 is None:
        return False
    low, high = headline.fraction_ci95
    return low < GOOD <= high or high > WIDEST * low


def _causes(results: Results, headline: Headline) -> Iterator[Cause]:
    """The known causes of scatter in the launches of the best library."""
    if results.conditions is not None and results.conditions.loaded:
        yield "other work"
    key = (headline.best, headline.place, headline.case)
    for cell in results.cells:
        if (cell.who, cell.place, cell.case) == key:
            if cell.modes:
                yield "two modes"
            if "held down" in cell.flags:
                yield "held down"
            if not {"sessions apart", "fractions apart"}.isdisjoint(cell.flags):
                yield "sessions"
            if "drift" in cell.flags:
                yield "drift"


def _few_launches(results: Results) -> bool:
    """True if a figure of the headlines has too few launches for an interval.

    Staged, left out and imported cells do not count: more time would not add launches to them.
    """
    imported = guests(results)
    return any(
        cell.launches < FEWEST_FOR_INTERVAL
        for cell in of_headlines(results)
        if cell.median is not None
        and cell.who.library not in imported
        and staging(cell.case.axes) is None
        and not is_left_out(cell, results)
    )


def _reached(headline: Headline) -> float:
    """The fraction of the ceiling that the best library reaches."""
    return headline.fraction or 0.0
