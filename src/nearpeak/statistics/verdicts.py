# SPDX-License-Identifier: Apache-2.0
"""Verdicts of a whole study: whole curves and their sizes, with one error rate for all.

A curve is two alternatives at all sizes of one benchmark at one place. A false "differs", of a
curve or a size, stands in at most 5 % of studies, whatever differs in truth and whatever launches
look like: all curves of the same two alternatives are judged together by flips of the signs of
whole blocks (flips.py), and several pairs of alternatives by Bonferroni. Where blocks are too few
for all pairs, the first ones are judged, in the order given, and no others.
"""

from collections.abc import Collection, Sequence
from statistics import median_low
from typing import Final, Literal, NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.statistics import flips
from nearpeak.statistics.blocks import EXACT_BLOCKS, blocks_needed, most_families
from nearpeak.statistics.closed import across
from nearpeak.statistics.comparisons import Comparison, median_ratio
from nearpeak.statistics.intervals import Interval, goal
from nearpeak.statistics.levels import ERROR_RATE

FASTER: Final = "faster"
SLOWER: Final = "slower"
EQUIVALENT: Final = "equivalent"
UNDECIDED: Final = "undecided"
MIXED: Final = "mixed"  # of a curve: some of it is faster, and some slower
TWO_MODES: Final = "two modes"  # of a size: the modes are told instead
# What a verdict says.
Word = Literal["faster", "slower", "equivalent", "undecided", "mixed", "two modes"]


class Curve(NamedTuple):
    """What is to be judged."""

    # sizes x blocks, turned so that above 0 is better; nan where a size lacks the block. Each size
    # has at least one block.
    log_ratios: Floats
    better: str  # "higher" or "lower": which margin holds (intervals.goal)
    # Of each size, whether an alternative has two modes there that nothing recorded tells apart:
    # then it gets no verdict. None: of none.
    two_modes: Sequence[bool] | None = None


class Verdict(NamedTuple):
    """Of a size, or of a curve: then of the mean of its sizes in each block."""

    comparison: Comparison
    p_adjusted: float  # of no difference (of a curve: at any size), for all of the study
    verdict: Word


class Judged(NamedTuple):
    """A curve and its sizes, in their order."""

    curve: Verdict
    sizes: tuple[Verdict, ...]


def pairs_judged(families: Sequence[Sequence[Curve]]) -> int:
    """How many of these pairs of alternatives, the first ones, are judged together: as many as let
    most curves be judged. More pairs need more blocks, which curves that end early do not have."""
    blocks = [[_blocks(curve) for curve in family] for family in families]

    def curves(pairs: int) -> int:
        needed = blocks_needed(pairs)
        return sum(own >= needed for family in blocks[:pairs] for own in family)

    most = min(len(families), most_families(EXACT_BLOCKS))
    return max(range(most + 1), key=curves)


def judge(families: Sequence[Sequence[Curve]]) -> list[list[Judged]]:
    """Verdicts on all curves of a study: for each pair of alternatives those of every place.

    By `verdict_of` and, of a whole curve, `whole`, within the margin of its metric.
    """
    judged_together = pairs_judged(families)
    tested = [_adjusted(family, judged_together) for family in families[:judged_together]]
    largest = [max((float(p.max()) for p in family), default=0.0) for family in tested]
    found = []
    for number, family in enumerate(families):
        others = largest[:number] + largest[number + 1 :]
        judged = []
        for index, curve in enumerate(family):
            p = np.ones(len(curve.log_ratios) + 1)
            if number < len(tested):
                p = across(tested[number][index], others)
            judged.append(_judged(curve, p.tolist()))
        found.append(judged)
    return found


def verdict_of(ci95: Interval | None, p: float, margin: float) -> Word:
    """The verdict on a ratio, by its interval and its adjusted p-value.

    - equivalent: the whole interval lies within the margin, however sure a smaller difference is;
    - faster, slower: otherwise, the p-value is below 5 % and the interval leaves 1 out;
    - undecided: anything else.
    """
    if ci95 is None:
        return UNDECIDED
    low, high = ci95
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return EQUIVALENT
    if p < ERROR_RATE and low > 1:
        return FASTER
    if p < ERROR_RATE and high < 1:
        return SLOWER
    return UNDECIDED


def whole(shift: Word, sizes: Collection[Word]) -> Word:
    """The verdict on a curve, by that on the mean of its sizes and those on each of them.

    Equivalent where all sizes are; faster or slower where the mean or a size is, and none of them
    the other way; mixed where both ways are; two modes where all sizes have them; undecided
    otherwise.
    """
    if set(sizes) in ({EQUIVALENT}, {TWO_MODES}):
        return next(iter(sizes))
    ways: list[Word] = [way for way in (FASTER, SLOWER) if way in (shift, *sizes)]
    if len(ways) == 1:
        return ways[0]
    return MIXED if ways else UNDECIDED


def means(rows: Floats) -> Floats:
    """The mean of each column over the rows that have most columns, all of them the same ones.

    A row that lacks one would shift the mean there, or had to be filled up with what it has
    elsewhere. Simulated, sizes that lack blocks, no difference: 13 to 55 % false with the latter.
    """
    present = ~np.isnan(rows)
    alike = (present == present[present.sum(axis=1).argmax()]).all(axis=1)
    return np.asarray(rows[alike].mean(axis=0))


def blocks_of(families: Sequence[Sequence[Curve]]) -> int:
    """In how many most curves were measured; 0 without any."""
    blocks = [_blocks(curve) for family in families for curve in family]
    return median_low(blocks) if blocks else 0


def _blocks(curve: Curve) -> int:
    return int((~np.isnan(curve.log_ratios)).any(axis=0).sum())


def _rows(curve: Curve, blocks: int) -> Floats:
    """What is asked of a curve: the mean of its sizes, and each of them."""
    sizes = curve.log_ratios
    found = np.full((len(sizes) + 1, blocks), np.nan)
    found[0, : sizes.shape[1]], found[1:, : sizes.shape[1]] = means(sizes), sizes
    return found


def _adjusted(family: Sequence[Curve], families: int) -> list[Floats]:
    """The p-values of each curve's mean and sizes, for all curves of two alternatives.

    Sizes with two modes too: what is left out because of what it showed makes the rest look rarer
    than it is. Simulated, modes of 50/50, 12 curves, 6 blocks: 34 % false.
    """
    blocks = max((curve.log_ratios.shape[1] for curve in family), default=0)
    tables = [_rows(curve, blocks) for curve in family]
    if not tables:
        return []
    # A mean scatters less than what it is of.
    kinds = [min(number, 1) for rows in tables for number in range(len(rows))]
    found = flips.adjusted(np.concatenate(tables), kinds, families)
    return np.split(found, np.cumsum([len(rows) for rows in tables])[:-1])


def _judged(curve: Curve, p: list[float]) -> Judged:
    margin = goal(curve.better)
    rows = _rows(curve, curve.log_ratios.shape[1])
    shift, *sizes = [
        _verdict(row[~np.isnan(row)], alone, adjusted, margin)
        for row, alone, adjusted in zip(rows, flips.alone(rows).tolist(), p, strict=True)
    ]
    if curve.two_modes is not None:
        sizes = [
            size._replace(verdict=TWO_MODES) if two else size
            for size, two in zip(sizes, curve.two_modes, strict=True)
        ]
    verdict = whole(shift.verdict, {size.verdict for size in sizes})
    return Judged(shift._replace(p_adjusted=min(p), verdict=verdict), tuple(sizes))


def _verdict(log_ratios: Floats, alone: float, adjusted: float, margin: float) -> Verdict:
    ratio = median_ratio(log_ratios)
    found = Comparison(ratio.value, ratio.bounds, alone)
    return Verdict(found, adjusted, verdict_of(found.ci95, adjusted, margin))
