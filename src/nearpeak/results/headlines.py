# SPDX-License-Identifier: Apache-2.0
"""The best alternative on each path: all alternatives in one curve, at one size.

Times are reported at 8 bytes; rates, and ratios of times, at the largest message.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from nearpeak.observations.observed import Block
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import FAILED, is_defect
from nearpeak.results.names import bare
from nearpeak.results.results import (
    HOST_CACHES,
    Attainable,
    CeilingPoint,
    Cell,
    Comparison,
    Headline,
    Reference,
    Unjudged,
)
from nearpeak.statistics import ranks
from nearpeak.statistics.comparisons import better_by
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.statistics.verdicts import EQUIVALENT, TWO_MODES, UNDECIDED
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import QUOTED_BYTES
from nearpeak.terms.identity import Case, Curve, Place, Who

Judged = dict[tuple[frozenset[Who], Place, Case], Comparison]


def find(
    cells: Iterable[Cell],
    comparisons: Iterable[Comparison],
    native: Collection[Who],
    ceilings: Ceilings,
    left_out: Iterable[Unjudged] = (),
) -> list[Headline]:
    """One for each path and curve. `native`: the ceiling in the place of a library, which is no
    rival of one. `left_out`: the pairs that blocks are too few for."""
    curves: dict[tuple[Place, Curve], list[Cell]] = defaultdict(list)
    for cell in cells:
        curves[cell.place, bare(cell.case.curve)].append(cell)
    judged = {(frozenset({two.first, two.second}), two.place, two.case): two for two in comparisons}
    headlines = [_headline(_at_one_size(mine), judged, native) for mine in curves.values()]
    without = [{pair.first, pair.second} for pair in left_out]
    for headline in headlines:
        headline.unjudged = [
            who
            for who in headline.tied
            if headline.best is not None
            and (pair := frozenset({who, headline.best})) in without
            and judged[pair, headline.place, headline.case].verdict == UNDECIDED
        ]
        _set_references(headline, ceilings)
    return headlines


def _set_references(headline: Headline, ceilings: Ceilings) -> None:
    """Sets the references of a headline: ceiling, attainable and plateau."""
    place, case = headline.place, headline.case
    if point := ceilings.point(place, case):
        headline.ceiling = _reference(point, point)
        headline.attainable = _reference(point, point.attainable) if point.attainable else None
    if plateau := ceilings.plateau(place, case.curve, headline.better):
        headline.plateau = _reference(plateau, plateau)
        same_size = ceilings.point(place, case.curve.at(plateau.case.x))
        headline.plateau_of_several = same_size is None or same_size.value != plateau.value
        if ceiling := headline.ceiling:
            both = {point.lies_in in HOST_CACHES for point in (ceiling, plateau)}
            headline.plateau_low = len(both) == 1 and plateau.value < ceiling.value


def _reference(point: CeilingPoint, source: CeilingPoint | Attainable) -> Reference:
    return Reference(
        value=source.value,
        ci95=source.ci95,
        range=source.range,
        x=point.case.x,
        method=source.method,
        kind=point.kind,
        lies_in=point.lies_in,
        by_trials=isinstance(source, Attainable) and source.by_trials,
    )


def _at_one_size(cells: list[Cell]) -> list[Cell]:
    """The cells of one curve at the size that is reported.

    All alternatives were to be measured there, and those without a figure failed: a size that one
    left out for a reason is no size to compare at. Where there is none, the size that most have.
    """
    by_size: dict[int, list[Cell]] = defaultdict(list)
    for cell in [cell for cell in cells if cell.case.x > 0] or cells:
        by_size[cell.case.x].append(cell)
    answered = {x: sum(map(_answers, group)) for x, group in by_size.items()}
    most = max(answered.values())
    measured = {cell.case.x for cell in cells if cell.median is not None}
    usable = [x for x in by_size if answered[x] == most and x in measured] or list(by_size)
    if cells[0].unit != "us":
        return by_size[max(usable)]
    return by_size[min(usable, key=lambda x: (abs(x - QUOTED_BYTES), x))]


def _answers(cell: Cell) -> bool:
    return cell.median is not None or cell.status in FAILED


def _headline(chosen: list[Cell], judged: Judged, native: Collection[Who]) -> Headline:
    example = min(chosen, key=lambda cell: staging(cell.case.axes) is not None)
    headline = Headline(
        place=example.place,
        case=example.case,
        unit=example.unit,
        better=example.better,
        best=None,
        tied=[],
        standing="unknown",
    )
    rivals = [
        cell
        for cell in chosen
        if _answers(cell) and staging(cell.case.axes) is None and cell.who not in native
    ]
    # The best lost less than half of its launches, and is not above its ceiling.
    sound = [
        cell
        for cell in rivals
        if cell.median is not None and cell.failed < cell.launches and not is_defect(cell)
    ]
    if not sound:
        return headline
    best = (max if example.better == "higher" else min)(sound, key=lambda cell: cell.median or 0.0)
    others = [cell for cell in rivals if cell is not best]
    headline.best, headline.value = best.who, best.median
    headline.fraction, headline.fraction_ci95 = best.fraction, best.fraction_ci95
    if not others:
        headline.standing = "alone"
    elif not any(is_defect(cell) and _ahead(cell, best) for cell in others):
        tied = _tied(best, [cell for cell in others if not is_defect(cell)], judged)
        if tied is not None:
            headline.tied = [cell.who for cell in tied]
            verdicts = [_compared(best, cell, judged) for cell in tied]
            alike = all(verdict and verdict.verdict == EQUIVALENT for verdict in verdicts)
            headline.standing = "first" if not tied else "tie" if alike else "undecided"
    return headline


def _ahead(cell: Cell, best: Cell) -> bool:
    return bool(cell.median and best.median) and (
        better_by(cell.median or 0.0, best.median or 0.0, cell.better) > 1
    )


def _tied(best: Cell, others: list[Cell], judged: Judged) -> list[Cell] | None:
    """The alternatives that nothing sets apart from the best: those that may be first in the
    resamples of the blocks too, and those without a verdict between them and the best. None where
    blocks are too few to tell."""
    cells = [best, *others]
    scores = _scores(cells)
    leading = [] if scores is None else ranks.leaders(ranks.first_shares(scores))
    if not leading:
        return None
    tied = [cells[index] for index in leading if index]
    for cell in others:
        compared = _compared(best, cell, judged)
        if compared is None:
            continue
        if compared.blocks < FEWEST_FOR_INTERVAL:
            if cell.status in FAILED:  # too few blocks, as it failed in the others
                continue
            return None
        if cell not in tied and compared.verdict in (UNDECIDED, EQUIVALENT, TWO_MODES):
            tied.append(cell)
    return tied


def _compared(best: Cell, cell: Cell, judged: Judged) -> Comparison | None:
    return judged.get((frozenset({best.who, cell.who}), cell.place, cell.case))


def _scores(cells: Sequence[Cell]) -> list[list[float]] | None:
    """The scores that ranks are made of: alternatives x blocks, above is better, -inf where one
    failed.

    None where they have fewer blocks in common than an interval needs.
    """
    sound = [set(cell.blocks) for cell in cells if cell.status not in FAILED]
    blocks = {block for cell in cells for block in cell.blocks}
    common = sorted(set.intersection(*sound) if sound else blocks)
    return [_score(cell, common) for cell in cells] if len(common) >= FEWEST_FOR_INTERVAL else None


def _score(cell: Cell, blocks: Iterable[Block]) -> list[float]:
    sign = 1.0 if cell.better == "higher" else -1.0
    values = cell.by_block
    return [sign * math.log(values[b]) if values.get(b, 0.0) > 0 else -math.inf for b in blocks]
