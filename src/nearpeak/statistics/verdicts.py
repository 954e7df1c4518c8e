# SPDX-License-Identifier: Apache-2.0
"""Verdicts of a whole study: curves first, then their sizes, with one error rate for all.

A curve is two alternatives at all sizes of one benchmark at one place. The procedure is a closed
test (Marcus, Peritz and Gabriel, Biometrika 63 (1976) 655), so that a false "differs", of a curve
or a size, stands in at most 5 % of studies, whatever differs in truth:

- sizes of one curve together are tested by Simes (Biometrika 73 (1986) 751), which holds for what
  depends positively on one another (Sarkar, Annals of Statistics 26 (1998) 494), as all sizes of a
  launch do; a whole curve also by the mean of its sizes in each block, twice the smaller p-value
  of the two. So a curve differs where all its sizes shift a little, and where one does, or some
  one way and some the other;
- curves together by Bonferroni, which holds however they depend.

What closed testing asks of all sets of sizes comes down to Hommel's p-values inside a curve
(Biometrika 75 (1988) 383) and a step-down as Holm's over curves (`across`).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.arrays import Booleans, Floats
from nearpeak.statistics.comparisons import LEVEL, Comparison, paired
from nearpeak.statistics.intervals import Interval, goal

FASTER, SLOWER, EQUIVALENT, UNDECIDED = "faster", "slower", "equivalent", "undecided"
MIXED = "mixed"  # of a curve: sizes are judged, but the curve does not differ one way as a whole


class Curve(NamedTuple):
    """What is to be judged."""

    # sizes x blocks, turned so that above 0 is better; nan where a size lacks the block. Each size
    # has at least one block.
    log_ratios: Floats
    better: str  # "higher" or "lower": which margin holds (intervals.goal)
    sessions: Sequence[int] | None = None  # of each block


class Verdict(NamedTuple):
    """Of a size, or of a curve: then of the mean of its sizes in each block."""

    comparison: Comparison
    p_adjusted: float  # of no difference (of a curve: at any size), for all of the study
    verdict: str


class Judged(NamedTuple):
    """A curve and its sizes, in their order."""

    curve: Verdict
    sizes: tuple[Verdict, ...]


class Tests(NamedTuple):
    """What was tested of a curve, each test on its own."""

    shift: Comparison  # of the mean of all sizes
    sizes: list[Comparison]


class Adjusted(NamedTuple):
    """The p-values of a curve for everything that is tested with it."""

    shift: float
    curve: float  # that it differs at any size
    sizes: tuple[float, ...]


def judge(curves: Sequence[Curve]) -> list[Judged]:
    """Verdicts on all curves of a study: those of every pair of alternatives, at every place.

    By `verdict_of` and, of a whole curve, `whole`, within the margin of its metric.
    """
    tested = [_test(curve) for curve in curves]
    judged = []
    for curve, tests, p in zip(curves, tested, adjust(tested), strict=True):
        margin = goal(curve.better)
        sizes = tuple(
            Verdict(size, p_size, verdict_of(size.ci95, p_size, margin))
            for size, p_size in zip(tests.sizes, p.sizes, strict=True)
        )
        shift = verdict_of(tests.shift.ci95, p.shift, margin)
        verdict = whole(shift, {size.verdict for size in sizes})
        judged.append(Judged(Verdict(tests.shift, p.curve, verdict), sizes))
    return judged


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
    other way; mixed where sizes are judged but that does not hold; undecided otherwise.
    """
    if set(sizes) == {EQUIVALENT}:
        return EQUIVALENT
    against = {FASTER: SLOWER, SLOWER: FASTER}
    if shift in against and against[shift] not in sizes:
        return shift
    return MIXED if {FASTER, SLOWER}.intersection(sizes) else UNDECIDED


def adjust(curves: Sequence[Tests]) -> list[Adjusted]:
    """The p-values of all curves, by the closed test."""
    inside = [_inside(tests) for tests in curves]
    last = [max(one.sizes) for one in inside]  # with which the last of its sizes is judged
    adjusted = []
    for i, one in enumerate(inside):
        others = np.array(last[:i] + last[i + 1 :])
        shift, curve, *sizes = across([one.shift, one.curve, *one.sizes], others).tolist()
        adjusted.append(Adjusted(shift, curve, tuple(sizes)))
    return adjusted


def within(p: ArrayLike, whole: float) -> Floats:
    """The p-values of one curve's sizes adjusted for one another, in the order given.

    Hommel's method, but for the test of all sizes together, whose p-value is `whole`. By the
    recursion over the sizes of sets of Wright (Biometrics 48 (1992) 1005).
    """
    values = np.asarray(p, dtype=float)
    count = len(values)
    order = np.argsort(values)
    ordered = values[order]
    largest = np.maximum(ordered, whole)
    for size in range(2, count):
        # The worst set of this size that holds a p-value has the largest of the others.
        rest = count - size + 1
        common = float(np.min(size * ordered[rest:] / np.arange(2, size + 1)))
        here = np.minimum(size * ordered, common)
        here[rest:] = here[rest - 1]
        largest = np.maximum(largest, here)
    adjusted = np.empty_like(values)
    adjusted[order] = largest
    return adjusted


def across(p: ArrayLike, others: ArrayLike) -> Floats:
    """p-values of one curve adjusted for all curves; `others`: the largest of each other curve.

    The worst set of k other curves are those with the largest p-values: Bonferroni's factor is
    k + 1 on the least of all, and the worst k counts. A curve thus frees the others from its
    factor once all its sizes are judged, as Holm's method does.
    """
    own = np.asarray(p, dtype=float)[:, None]
    ordered = -np.sort(-np.asarray(others, dtype=float))
    factors = np.arange(1, len(ordered) + 2)
    least = np.minimum(own, np.concatenate([[np.inf], ordered]))
    return np.asarray(np.minimum((factors * least).max(axis=1), 1.0))


def _test(curve: Curve) -> Tests:
    sizes = []
    for row in curve.log_ratios:
        present = ~np.isnan(row)
        sizes.append(paired(row[present], _of(curve.sessions, present)))
    present = np.asarray(~np.isnan(curve.log_ratios).all(axis=0))
    shift = paired(means(curve.log_ratios[:, present]), _of(curve.sessions, present))
    return Tests(shift, sizes)


def _inside(tests: Tests) -> Adjusted:
    """The p-values adjusted for those of the same curve alone."""
    p = np.array([size.p_value for size in tests.sizes])
    count = 1 if len(p) == 1 else 2  # the mean of one size is that size
    shift = count * tests.shift.p_value
    curve = min(shift, count * _simes(p))
    return Adjusted(shift, curve, tuple(within(p, curve).tolist()))


def _simes(p: Floats) -> float:
    return float(np.min(np.sort(p) * len(p) / np.arange(1, len(p) + 1)))


def means(rows: Floats) -> Floats:
    """The mean of each column over the rows; a row that lacks it (nan) does not shift it."""
    middles = np.nanmean(rows, axis=1, keepdims=True)
    return np.asarray(np.nanmean(rows - middles, axis=0) + middles.mean())


def _of(sessions: Sequence[int] | None, present: Booleans) -> list[int] | None:
    return None if sessions is None else np.asarray(sessions)[present].tolist()
