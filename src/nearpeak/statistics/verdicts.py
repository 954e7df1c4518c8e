# SPDX-License-Identifier: Apache-2.0
"""Verdicts of a whole study: whole curves and their sizes, with one error rate for all.

A curve is two alternatives at all sizes of one benchmark at one place. A false "differs", of a
curve or a size, stands in at most 5 % of studies, whatever differs in truth and whatever launches
look like: all curves of the same two alternatives are judged together by flips of the signs of
whole blocks (flips.py), and several pairs of alternatives by Bonferroni. Where blocks are too few
for all pairs, the first ones are judged, in the order given, and no others.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats
from nearpeak.statistics import flips
from nearpeak.statistics.closed import across
from nearpeak.statistics.comparisons import Comparison, paired
from nearpeak.statistics.flips import LEVEL
from nearpeak.statistics.intervals import Interval, goal

FASTER, SLOWER, EQUIVALENT, UNDECIDED = "faster", "slower", "equivalent", "undecided"
MIXED = "mixed"  # of a curve: sizes are judged, but the curve does not differ one way as a whole
TWO_MODES = "two modes"  # of a size: the modes are told instead


class Curve(NamedTuple):
    """What is to be judged."""

    # sizes x blocks, turned so that above 0 is better; nan where a size lacks the block. Each size
    # has at least one block.
    log_ratios: Floats
    better: str  # "higher" or "lower": which margin holds (intervals.goal)
    # Of each size, whether an alternative has two modes there that nothing recorded tells apart:
    # then it is not judged. None: of none.
    two_modes: Sequence[bool] | None = None


class Verdict(NamedTuple):
    """Of a size, or of a curve: then of the mean of its judged sizes in each block."""

    comparison: Comparison
    p_adjusted: float  # of no difference (of a curve: at any size), for all of the study
    verdict: str


class Judged(NamedTuple):
    """A curve and its sizes, in their order."""

    curve: Verdict
    sizes: tuple[Verdict, ...]


def pairs_judged(families: Sequence[Sequence[Curve]]) -> int:
    """How many of these pairs of alternatives, the first ones, their blocks can judge together."""
    return min(len(families), flips.most_families(blocks_of(families)))


def judge(families: Sequence[Sequence[Curve]]) -> list[list[Judged]]:
    """Verdicts on all curves of a study: for each pair of alternatives those of every place.

    By `verdict_of` and, of a whole curve, `whole`, within the margin of its metric.
    """
    tested = [_adjusted(family) for family in families[: pairs_judged(families)]]
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


def verdict_of(ci95: Interval | None, p: float, margin: float) -> str:
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
    if p < LEVEL and low > 1:
        return FASTER
    if p < LEVEL and high < 1:
        return SLOWER
    return UNDECIDED


def whole(shift: str, sizes: Collection[str]) -> str:
    """The verdict on a curve, by that on the mean of its sizes and those on each of them.

    Equivalent where all sizes are; faster or slower as the mean is, where no size is judged the
    other way; mixed where sizes are judged but that does not hold; two modes where all sizes have
    them; undecided otherwise.
    """
    if set(sizes) in ({EQUIVALENT}, {TWO_MODES}):
        return next(iter(sizes))
    against = {FASTER: SLOWER, SLOWER: FASTER}
    if shift in against and against[shift] not in sizes:
        return shift
    return MIXED if {FASTER, SLOWER}.intersection(sizes) else UNDECIDED


def means(rows: Floats) -> Floats:
    """The mean of each column over the rows; a row that lacks it (nan) does not shift it."""
    middles = np.nanmean(rows, axis=1, keepdims=True)
    present = ~np.isnan(rows).all(axis=0)
    found = np.full(rows.shape[1], np.nan)
    found[present] = np.nanmean((rows - middles)[:, present], axis=0) + middles.mean()
    return found


def blocks_of(families: Sequence[Sequence[Curve]]) -> int:
    """Of the curve with the most: in how many it was measured."""
    return max(
        (int((~np.isnan(c.log_ratios)).any(axis=0).sum()) for f in families for c in f), default=0
    )


def _clear(curve: Curve) -> Booleans:
    """Which sizes have no two modes."""
    if curve.two_modes is None:
        return np.ones(len(curve.log_ratios), dtype=bool)
    return ~np.asarray(curve.two_modes, dtype=bool)


def _adjusted(family: Sequence[Curve]) -> list[Floats]:
    """The p-values of each curve's mean and sizes, for all curves of two alternatives; 1 of what is
    not tested."""
    blocks = max((curve.log_ratios.shape[1] for curve in family), default=0)
    rows: list[Floats] = []
    kinds: list[int] = []
    owners: list[tuple[int, int]] = []  # of each row: its curve, and its size + 1; 0: the mean
    for index, curve in enumerate(family):
        clear = np.flatnonzero(_clear(curve))
        if not len(clear):
            continue
        sizes = curve.log_ratios[clear]
        wide = np.full((len(sizes) + 1, blocks), np.nan)
        wide[0, : sizes.shape[1]], wide[1:, : sizes.shape[1]] = means(sizes), sizes
        rows.append(wide)
        kinds += [0] + [1] * len(sizes)  # a mean scatters less than what it is of
        owners += [(index, 0), *((index, size + 1) for size in clear.tolist())]
    found = [np.ones(len(curve.log_ratios) + 1) for curve in family]
    if rows:
        values = flips.adjusted(np.concatenate(rows), kinds).tolist()
        for (index, row), p in zip(owners, values, strict=True):
            found[index][row] = p
    return found


def _judged(curve: Curve, p: list[float]) -> Judged:
    margin = goal(curve.better)
    clear = _clear(curve)
    sizes = []
    for row, judged, p_size in zip(curve.log_ratios, clear, p[1:], strict=True):
        found = paired(row[~np.isnan(row)])
        verdict = verdict_of(found.ci95, p_size, margin) if judged else TWO_MODES
        sizes.append(Verdict(found, p_size, verdict))
    shifts = means(curve.log_ratios[clear] if clear.any() else curve.log_ratios)
    shift = paired(shifts[~np.isnan(shifts)])
    verdict = whole(verdict_of(shift.ci95, p[0], margin), {size.verdict for size in sizes})
    return Judged(Verdict(shift, min(p), verdict), tuple(sizes))
