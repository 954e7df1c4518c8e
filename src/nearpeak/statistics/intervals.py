# SPDX-License-Identifier: Apache-2.0
"""The interval of a median, and the goals for its width (docs/methods/statistics.md).

The unit is the launch: every value here is a launch median, or a ratio of two.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import scipy  # scipy.special, which loads slowly, is loaded at its first use
from numpy.typing import ArrayLike

from nearpeak.arrays import Floats
from nearpeak.statistics.levels import CONFIDENCE
from nearpeak.statistics.sessions import apart, medians, student

GOAL_HIGHER = 0.02  # half-width of the interval of a rate, relative to the median
GOAL_LOWER = 0.03  # and of a time

OVERLAP = 0.1  # of the values of an alternative: ignored at either end in the test for overlap

Interval = tuple[float, float]
T = TypeVar("T")


@lru_cache
def weights(n: int, level: float = CONFIDENCE) -> tuple[int, float] | None:
    """k and w: the interval starts at the share w of the way from the k-th smallest to the next.

    The k-th smallest to the k-th largest of n values cover their median with 1 - 2 P(B < k), B
    binomial(n, 1/2); k is the largest that has `level`. w is what Hettmansperger and Sheather
    (Statistics & Probability Letters 4 (1986) 75) give for the rest: exact for Laplace's
    distribution, near to it for many others. None where not even all n values reach the level
    (95 %: below 6).
    """
    cumulative = scipy.special.bdtr(np.arange(n + 1), n, 0.5)
    k = int(np.searchsorted(cumulative, (1 - level) / 2))
    if k == 0:
        return None
    wide, narrow = (1 - 2 * float(scipy.special.bdtr(j, n, 0.5)) for j in (k - 1, k))
    share = (wide - level) / (wide - narrow)
    return k, (n - k) * share / (k + (n - 2 * k) * share)


def interval(
    values: ArrayLike,
    level: float = CONFIDENCE,
    sessions: Sequence[int] | None = None,
    *,
    positive: bool = False,
) -> Interval | None:
    """The interval of the median of `values`, in their unit; None where there are too few.

    The values are assumed to be independent, of any distribution. An end moves in from the k-th
    value by `weights`, but never further than in proportion to the values that are left: where one
    launch lies far off, interpolation over the gap would not cover.

    `sessions` numbers the session of each value: where sessions lie further apart than launches
    explain, the interval also spans that of the sessions (`_of_sessions`). A session of fewer
    launches than `sessions.ENOUGH_LAUNCHES` counts only with its launches. Where what is measured
    can only be `positive` (times, rates, and ratios of them), sessions deviate by factors, and both
    ends are above 0.
    """
    by_launches = _of_median(values, level)
    if by_launches is None or sessions is None:
        return by_launches
    if not apart(values, sessions, positive=positive):
        return by_launches
    return spanning([by_launches, _of_sessions(medians(values, sessions), level, positive)])


def _of_median(values: ArrayLike, level: float) -> Interval | None:
    """The interval of the median, by the order statistics."""
    ordered = np.sort(np.asarray(values, dtype=float))
    weighting = weights(len(ordered), level)
    if weighting is None:
        return None
    k, share = weighting
    first, second, second_last, last = ordered[[k - 1, k, -k - 1, -k]].tolist()
    low = first + share * min(second - first, last - second)
    high = last - share * min(last - second_last, second_last - first)
    return low, high


def _of_sessions(middles: Floats, level: float, positive: bool) -> Interval:
    """The interval over sessions that differ, by their medians, each of which counts once.

    Two sessions: from one to the other. It holds only for these two, as Student's interval with one
    degree of freedom would be 12.7 times as wide as their distance. More sessions: the interval of
    their median; where they are too few for that, Student's of their mean.
    """
    if len(middles) == 2:
        return float(middles.min()), float(middles.max())
    return _of_median(middles, level) or student(middles, level, positive=positive)


def all_known(values: Iterable[T | None]) -> list[T]:
    """All values; an empty list if any of them is None."""
    items = [*values]
    present = [value for value in items if value is not None]
    return present if len(present) == len(items) else []


def spanning(intervals: Iterable[Interval | None]) -> Interval | None:
    """From the lowest end of these intervals to the highest; None if any of them is None."""
    present = all_known(intervals)
    return (min(low for low, _ in present), max(high for _, high in present)) if present else None


def of_readings(readings: Iterable[Sequence[float]], sessions: Sequence[int]) -> Interval | None:
    """The interval that spans those of all readings of the values (above 0) of some blocks."""
    return spanning(interval(values, sessions=sessions, positive=True) for values in readings)


def half_width(values: ArrayLike, sessions: Sequence[int] | None = None) -> float | None:
    """Half the 95 % interval, relative to the median; None without one, or a median above 0."""
    bounds = interval(values, sessions=sessions, positive=True)
    middle = float(np.median(np.asarray(values, dtype=float))) if bounds else 0.0
    return (bounds[1] - bounds[0]) / 2 / middle if bounds and middle > 0 else None


def goal(better: str) -> float:
    """The margin of a metric, relative: 2 % for rates ("higher"), 3 % for times ("lower")."""
    return GOAL_HIGHER if better == "higher" else GOAL_LOWER


def precise(
    values: ArrayLike, better: str, sessions: Sequence[int] | None = None, share: float = 1.0
) -> bool:
    """True if half the interval is within `share` of the goal: no more launches are needed."""
    width = half_width(values, sessions)
    return width is not None and width <= goal(better) * share


def expected_half_width(deviation: float, n: int) -> float | None:
    """The expected half-width of the interval of n launches, in the unit of `deviation`.

    For normal launches of that standard deviation: the expected order statistics by Blom
    (Statistical Estimates and Transformed Beta-Variables, 1958), right to 1 %. None where n
    launches have no interval.
    """
    weighting = weights(n)
    if weighting is None:
        return None
    k, share = weighting
    outer, inner = (-float(scipy.special.ndtri((rank - 0.375) / (n + 0.25))) for rank in (k, k + 1))
    return deviation * (outer - share * (outer - inner))


def all_precise(
    alternatives: Sequence[Sequence[float]], better: str, sessions: Sequence[int]
) -> bool:
    """True if all alternatives are precise (`precise`), judged by rank within each block.

    The first series holds the least value of each block, the second the next one, and so on.
    `alternatives`: the values of each, in the same blocks.

    The stop must not depend on which alternative a value belongs to. Otherwise two equal
    alternatives that happen to differ in every block look precise, and their difference becomes too
    significant: the flips that judge it (sign_flip.py) must not change the stop.

    The least of several equal alternatives scatters less than each of them, by `ordered_deviation`.
    The goal shrinks by the same factor.
    """
    ordered = np.sort(np.array(alternatives, dtype=float), axis=0)
    return bool(ordered.size) and all(
        precise(values, better, sessions, ordered_deviation(rank, len(alike)))
        for alike in _alike(ordered)
        for rank, values in enumerate(alike, 1)
    )


def _alike(ordered: Floats) -> list[Floats]:
    """Groups of neighbouring series, each of the values of one rank, that overlap.

    Two overlap if the 90th percentile of the lower one reaches the 10th of the higher one.

    By this rule normal alternatives that lie up to five deviations apart came out between 4 % less
    and 20 % more precise than aimed at, in simulations of 2 to 4 of them in 8 and 20 blocks.
    """
    low, high = np.quantile(ordered, (OVERLAP, 1 - OVERLAP), axis=1)
    return np.split(ordered, np.flatnonzero(high[:-1] < low[1:]) + 1)


@lru_cache
def ordered_deviation(rank: int, n: int) -> float:
    """The standard deviation of the value of that rank among n normal ones of deviation 1.

    The moments of an order statistic (David and Nagaraja, Order Statistics, 2003, 2.1), integrated.
    """
    x = np.linspace(-9, 9, 4001)
    below = scipy.special.log_ndtr(x)
    above = scipy.special.log_ndtr(-x)
    density = np.exp((rank - 1) * below + (n - rank) * above - x * x / 2)
    density /= density.sum()
    mean = float(density @ x)
    return float(np.sqrt(density @ (x - mean) ** 2))
