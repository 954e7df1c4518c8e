# SPDX-License-Identifier: Apache-2.0
"""The best alternative on each path: all alternatives in one curve, at one size.

Times are reported at 8 bytes; rates, and ratios of times, at the largest message.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import filterfalse

from nearpeak.grouping import grouped
from nearpeak.observations.observed import Block
from nearpeak.results.best import quoted_size, reference_of
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import FAILED, is_defect
from nearpeak.results.names import bare
from nearpeak.results.results import (
    HOST_CACHES,
    Cell,
    Comparison,
    Headline,
    Judging,
)
from nearpeak.statistics import ranks
from nearpeak.statistics.blocks import blocks_needed
from nearpeak.statistics.comparisons import SIGN
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.statistics.verdicts import EQUIVALENT, TWO_MODES, UNDECIDED
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Case, Place, Who

Judged = dict[tuple[frozenset[Who | None], Place, Case], Comparison]
NOT_APART = (UNDECIDED, EQUIVALENT, TWO_MODES)


def find(
    cells: Iterable[Cell],
    comparisons: Iterable[Comparison],
    native: Collection[Who],
    ceilings: Ceilings,
    judging: Judging | None = None,
) -> list[Headline]:
    """One for each path and curve. `native`: the ceiling in the place of a library, which is no
    rival of one. `judging`: the pairs that blocks are too few for."""
    curves = grouped(cells, lambda cell: (cell.place, bare(cell.case.curve)))
    judged: Judged = {
        (frozenset({two.first, two.second}), two.place, two.case): two for two in comparisons
    }
    headlines = [_headline(_at_one_size(mine), judged, native) for mine in curves.values()]
    for headline in headlines:
        _set_unjudged(headline, judged, judging or Judging())
        _set_references(headline, ceilings)
    return headlines


def _set_unjudged(headline: Headline, judged: Judged, judging: Judging) -> None:
    """Sets those of `tied` whose common blocks with the best are too few for any verdict."""
    without = {frozenset({pair.first, pair.second}) for pair in judging.left_out}
    least = blocks_needed(judging.pairs - len(judging.left_out))
    lacking = []
    for who in headline.tied:
        pair = frozenset({who, headline.best})
        two = judged.get((pair, headline.place, headline.case))
        if two and two.verdict == UNDECIDED and (pair in without or two.blocks < least):
            headline.unjudged.append(who)
            lacking.append(two.blocks)
    if lacking and min(lacking) < judging.blocks_needed:
        headline.unjudged_blocks = min(lacking), judging.blocks_needed


def _set_references(headline: Headline, ceilings: Ceilings) -> None:
    """Sets the references of a headline: ceiling, attainable and plateau."""
    place, case = headline.place, headline.case
    point = ceilings.point(place, case)
    if point is not None:
        headline.ceiling = reference_of(point)
    if point is not None and point.attainable is not None:
        headline.attainable = reference_of(point, point.attainable)
    plateau = ceilings.plateau(place, case.curve, headline.better)
    if plateau is None:
        return
    headline.plateau = reference_of(plateau)
    same_size = ceilings.point(place, case.curve.at(plateau.case.x))
    headline.plateau_of_several = same_size is None or same_size.value != plateau.value
    if point is not None:
        both = {reference.lies_in in HOST_CACHES for reference in (point, plateau)}
        headline.plateau_low = len(both) == 1 and plateau.value < point.value


def _at_one_size(cells: list[Cell]) -> list[Cell]:
    """The cells of one curve at the size that is reported.

    All alternatives were to be measured there, and those without a figure failed: a size that one
    left out for a reason is no size to compare at. Where there is none, the size that most have.
    """
    by_size = grouped([cell for cell in cells if cell.case.x > 0] or cells, lambda c: c.case.x)
    answered = {x: sum(map(_answers, group)) for x, group in by_size.items()}
    complete = {x for x, number in answered.items() if number == max(answered.values())}
    measured = {cell.case.x for cell in cells if cell.median is not None}
    usable = complete & measured or set(by_size)
    return by_size[quoted_size(usable) if cells[0].unit == "us" else max(usable)]


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
    direct = [cell for cell in chosen if staging(cell.case.axes) is None]
    rivals = [cell for cell in direct if _answers(cell) and cell.who not in native]
    best = max(filter(_is_sound, rivals), key=_signed, default=None)
    if best is None:
        return headline
    headline.best, headline.value = best.who, best.median
    headline.fraction, headline.fraction_ci95 = best.fraction, best.fraction_ci95
    others = [cell for cell in rivals if cell is not best]
    if not others:
        headline.standing = "alone"
    elif not any(_signed(cell) > _signed(best) for cell in filter(is_defect, others)):
        tied = _tied(best, [*filterfalse(is_defect, others)], judged)
        if tied is not None:
            headline.tied = [cell.who for cell in tied]
            compared = [_compared(best, cell, judged) for cell in tied]
            verdicts = {two and two.verdict for two in compared}
            headline.standing = "tie" if verdicts == {EQUIVALENT} else "undecided"
            if not tied:
                headline.standing = "first"
    return headline


def _is_sound(cell: Cell) -> bool:
    """True if it lost less than half of its launches, and is not above its ceiling."""
    return cell.median is not None and cell.failed < cell.launches and not is_defect(cell)


def _signed(cell: Cell) -> float:
    return SIGN[cell.better] * (cell.median or 0.0)


def _tied(best: Cell, others: list[Cell], judged: Judged) -> list[Cell] | None:
    """The alternatives that nothing sets apart from the best: those that may be first in the
    resamples of the blocks too, and those without a verdict between them and the best. None where
    blocks are too few to tell."""
    cells = [best, *others]
    scores = _scores(cells)
    leading = ranks.leaders(ranks.first_shares(scores)) if scores else []
    tied = [cells[index] for index in leading if index]
    compared = [(cell, two) for cell in others if (two := _compared(best, cell, judged))]
    # Too few blocks are no obstacle where it failed in the others.
    few = [cell for cell, two in compared if two.blocks < FEWEST_FOR_INTERVAL]
    if not leading or any(cell.status not in FAILED for cell in few):
        return None
    alike = [cell for cell, two in compared if two.verdict in NOT_APART]
    return tied + [cell for cell in alike if cell not in tied and cell not in few]


def _compared(best: Cell, cell: Cell, judged: Judged) -> Comparison | None:
    return judged.get((frozenset({best.who, cell.who}), cell.place, cell.case))


def _scores(cells: Sequence[Cell]) -> list[list[float]]:
    """The scores that ranks are made of: alternatives x blocks, above is better, -inf where one
    failed.

    Empty where they have fewer blocks in common than an interval needs.
    """
    sound = [set(cell.blocks) for cell in cells if cell.status not in FAILED]
    blocks = {block for cell in cells for block in cell.blocks}
    common = sorted(blocks.intersection(*sound))
    return [_score(cell, common) for cell in cells] if len(common) >= FEWEST_FOR_INTERVAL else []


def _score(cell: Cell, blocks: Iterable[Block]) -> list[float]:
    values = [cell.by_block.get(block, 0.0) for block in blocks]
    return [SIGN[cell.better] * math.log(v) if v > 0 else -math.inf for v in values]
