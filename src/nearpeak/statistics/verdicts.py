# SPDX-License-Identifier: Apache-2.0
"""Verdicts on all curves of a study and their sizes, with one error rate.

A curve is two alternatives at all sizes of one benchmark at one place. A false "differs", of a
curve or a size, stands in at most 5 % of studies, whatever really differs, for any distribution of
launches: all curves of the same two alternatives are judged together by flips of the signs of whole
blocks (sign_flip.py), and several pairs of alternatives by Bonferroni. If blocks are too few for
all pairs, only the first ones are judged, in the order given.
"""

from collections.abc import Collection, Sequence
from statistics import median_low
from typing import Final, Literal, NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.statistics import sign_flip
from nearpeak.statistics.blocks import EXACT_BLOCKS, blocks_needed, most_families
from nearpeak.statistics.closed_testing import across
from nearpeak.statistics.comparisons import Comparison, median_ratio
from nearpeak.statistics.intervals import Interval, goal
from nearpeak.statistics.levels import ERROR_RATE

FASTER: Final = "faster"
SLOWER: Final = "slower"
EQUIVALENT: Final = "equivalent"
UNDECIDED: Final = "undecided"
MIXED: Final = "mixed"  # of a curve: some sizes are faster, others slower
TWO_MODES: Final = "two modes"  # of a size: the modes are reported instead
# The verdict as a word.
Word = Literal[
    "faster",  # it is better
    "slower",  # it is worse
    "equivalent",  # they differ by less than matters
    "undecided",  # neither is proven
    "mixed",  # of a curve: cases differ, but not all in the same direction
    # launches of one fall into two groups that nothing recorded explains; of a curve: in all cases
    "two modes",
]


class Curve(NamedTuple):
    """Two alternatives at all sizes of one benchmark at one place."""

    # sizes x blocks, signed so that above 0 is better; nan where a size lacks the block. Each size
    # has at least one block.
    log_ratios: Floats
    better: str  # "higher" or "lower"; selects the margin (intervals.goal)
    # True for each size at which an alternative has two modes that no recorded condition explains:
    # then it gets no verdict. None: no size.
    two_modes: Sequence[bool] | None = None


class Verdict(NamedTuple):
    """The verdict on a size, or on a curve: then on the mean of its sizes in each block."""

    comparison: Comparison
    p_adjusted: float  # of no difference (of a curve: at any size), for all of the study
    verdict: Word


class Judged(NamedTuple):
    """A curve and its sizes, in their order."""

    curve: Verdict
    sizes: tuple[Verdict, ...]


def pairs_judged(families: Sequence[Sequence[Curve]]) -> int:
    """The number of first pairs that are judged together: the one that judges most curves.

    More pairs need more blocks, which curves that end early lack.
    """
    blocks = [list(map(_blocks, family)) for family in families]

    def curves(pairs: int) -> int:
        needed = blocks_needed(pairs)
        return sum(count >= needed for family in blocks[:pairs] for count in family)

    most = min(len(families), most_families(EXACT_BLOCKS))
    return max(range(most + 1), key=curves)


def judge(families: Sequence[Sequence[Curve]]) -> list[list[Judged]]:
    """Verdicts on all curves of a study: for each pair of alternatives those of every place.

    By `verdict_of` and, for a curve, `curve_verdict`, within the margin of its metric.
    """
    judged_together = pairs_judged(families)
    tested = [_adjusted(family, judged_together) for family in families[:judged_together]]
    largest = [max((float(p.max()) for p in family), default=0.0) for family in tested]
    verdicts = []
    for number, family in enumerate(families):
        others = largest[:number] + largest[number + 1 :]
        judged = []
        for index, curve in enumerate(family):
            p = np.ones(len(curve.log_ratios) + 1)
            if number < len(tested):
                p = across(tested[number][index], others)
            judged.append(_judged(curve, p.tolist()))
        verdicts.append(judged)
    return verdicts


def verdict_of(ci95: Interval | None, p: float, margin: float) -> Word:
    """The verdict on a ratio, by its interval and its adjusted p-value.

    - equivalent: the whole interval lies within the margin, however significant a smaller
      difference is;
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


def curve_verdict(shift: Word, sizes: Collection[Word]) -> Word:
    """The verdict on a curve, from those on the mean of its sizes and on each size.

    Equivalent or two modes if all sizes are; faster or slower if the mean or a size is, and none is
    the opposite; mixed if both occur; undecided otherwise.
    """
    if set(sizes) in ({EQUIVALENT}, {TWO_MODES}):
        return next(iter(sizes))
    ways: list[Word] = [way for way in (FASTER, SLOWER) if way in (shift, *sizes)]
    if len(ways) == 1:
        return ways[0]
    return MIXED if ways else UNDECIDED


def means(rows: Floats) -> Floats:
    """The mean of each column over those rows with most columns that have the same ones.

    A row that lacks a column would shift the mean there, or its values elsewhere would have to fill
    the gap. Simulated, sizes that lack blocks, no difference: 13 to 55 % false with filled gaps.
    """
    present = ~np.isnan(rows)
    alike = (present == present[present.sum(axis=1).argmax()]).all(axis=1)
    return np.asarray(rows[alike].mean(axis=0))


def blocks_of(families: Sequence[Sequence[Curve]]) -> int:
    """The number of blocks of the median curve; 0 without curves."""
    blocks = [_blocks(curve) for family in families for curve in family]
    return median_low(blocks) if blocks else 0


def _blocks(curve: Curve) -> int:
    return int((~np.isnan(curve.log_ratios)).any(axis=0).sum())


def _rows(curve: Curve, blocks: int) -> Floats:
    """The tested rows of a curve: the mean of its sizes, and each size."""
    sizes = curve.log_ratios
    table = np.full((len(sizes) + 1, blocks), np.nan)
    table[0, : sizes.shape[1]], table[1:, : sizes.shape[1]] = means(sizes), sizes
    return table


def _adjusted(family: Sequence[Curve], families: int) -> list[Floats]:
    """The p-values of each curve's mean and sizes, for all curves of two alternatives.

    Sizes with two modes, too: leaving out sizes because of their values makes the rest look rarer
    than it is. Simulated, modes of 50/50, 12 curves, 6 blocks: 34 % false.
    """
    blocks = max((curve.log_ratios.shape[1] for curve in family), default=0)
    tables = [_rows(curve, blocks) for curve in family]
    if not tables:
        return []
    # A mean scatters less than its terms.
    kinds = [min(number, 1) for rows in tables for number in range(len(rows))]
    p_values = sign_flip.adjusted(np.concatenate(tables), kinds, families)
    return np.split(p_values, np.cumsum([len(rows) for rows in tables])[:-1])


def _judged(curve: Curve, p: list[float]) -> Judged:
    margin = goal(curve.better)
    rows = _rows(curve, curve.log_ratios.shape[1])
    shift, *sizes = [
        _verdict(row[~np.isnan(row)], unadjusted, adjusted, margin)
        for row, unadjusted, adjusted in zip(
            rows, sign_flip.unadjusted(rows).tolist(), p, strict=True
        )
    ]
    if curve.two_modes is not None:
        sizes = [
            size._replace(verdict=TWO_MODES) if two else size
            for size, two in zip(sizes, curve.two_modes, strict=True)
        ]
    verdict = curve_verdict(shift.verdict, {size.verdict for size in sizes})
    return Judged(shift._replace(p_adjusted=min(p), verdict=verdict), tuple(sizes))


def _verdict(log_ratios: Floats, unadjusted: float, adjusted: float, margin: float) -> Verdict:
    ratio = median_ratio(log_ratios)
    comparison = Comparison(ratio.value, ratio.bounds, unadjusted)
    return Verdict(comparison, adjusted, verdict_of(comparison.ci95, adjusted, margin))
