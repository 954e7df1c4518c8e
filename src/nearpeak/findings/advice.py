# SPDX-License-Identifier: Apache-2.0
"""What a reader should do, from what was found."""

from collections import Counter
from collections.abc import Iterator, Sequence

from nearpeak.results.cells import FEWEST
from nearpeak.results.names import bare
from nearpeak.results.order import headlines
from nearpeak.results.results import Advice, Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import CEILING

NEAR = 0.8  # of the ceiling: a library that is never below leaves nothing to do


def advise(results: Results) -> list[Advice]:
    """The first things first: failures, paths that carry less than they should, then the largest
    certain loss, or how near to the ceiling the best libraries are."""
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
    failed = Counter(one.who for one in results.failures if one.who != CEILING)
    for who, launches in failed.items():
        yield Advice(kind="failures", who=who, launches=launches)


def _loss(results: Results) -> list[Advice]:
    """The finding that loses most of those that are sure."""
    for number, finding in enumerate(results.findings):
        if finding.sure:
            who, place, case = finding.who, finding.place, finding.case
            return [Advice(kind="loss", who=who, place=place, case=case, finding=number)]
    return []


def _without_findings(results: Results) -> Iterator[Advice]:
    """From the best of each headline: how near all of them are, or which one is furthest."""
    told = [one for group in headlines(results) for one in group]
    # What is far from a bound may be as good as can be.
    held = [one for one in told if one.ceiling and one.ceiling.kind == "measured" and _reached(one)]
    if not held:
        return
    if _few_launches(results, told):
        yield Advice(kind="launches", launches=FEWEST)
        return
    furthest = min(held, key=_reached)
    if _reached(furthest) < NEAR:
        yield Advice(
            kind="far",
            who=furthest.best,
            place=furthest.place,
            case=furthest.case,
            fraction=furthest.fraction,
        )
        return
    everywhere = set.intersection(*({one.best, *one.tied} for one in held))
    who = next((one.best for one in held if one.best in everywhere), None)
    yield Advice(kind="near", who=who, fraction=furthest.fraction)


def _few_launches(results: Results, told: Sequence[Headline]) -> bool:
    """Whether any figure that is told has no interval, but for what the benchmark staged."""
    cases = {(one.place, bare(one.case).at(one.case.x)) for one in told}
    return any(
        cell.launches < FEWEST
        for cell in results.cells
        if cell.median is not None
        and staging(cell.case.axes) is None
        and (cell.place, bare(cell.case).at(cell.case.x)) in cases
    )


def _reached(headline: Headline) -> float:
    """By the best one, of the ceiling."""
    return headline.fraction or 0.0
