# SPDX-License-Identifier: Apache-2.0
"""The pure statistics of the results: numbers in, numbers out. docs/methodology.md says why.

The unit is the launch; the interval of launch medians itself is nearpeak.study.precision.interval.
"""

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEVEL = 0.05  # of every test
MODE_GAP = 0.05  # modes nearer than this are no modes
PACE_SHARE = 0.25  # of a launch's samples: fewer are no pace,
PACE_SAMPLES = 10  # nor is anything among fewer
DRIFT_LIMIT = 0.05  # of a block's probe against the median block
TREND_LIMIT = 0.02  # the same, when the probes have a trend
TREND_LEVEL = 0.01
ROUNDING = 1e-12  # a spread of logarithms that is none
SOFT = 0.1  # relative error from which on an error counts linearly in a fit
LEAST_SHARE = 1e-3  # of a parameter in the time of any size: below, nothing tells it
CONVERGED = 1e-12  # relative step: far above rounding, far below what any figure shows
MOST_STEPS = 1000

Floats = NDArray[np.float64]


def p_values(log_ratios: Sequence[Floats]) -> Floats:
    """Two-sided p-value of each cell's paired log ratios against 0: Student's paired t-test.

    A rank test on 6 pairs cannot go below 2/64, so that after Holm's adjustment it could never
    judge more than one cell; the t-test can. Its normality is checked (rejects_normality), and no
    verdict rests on it alone (comparisons.verdict). Source of the choice of tests: Hunold and
    Carpen-Amarie, IEEE TPDS 27 (2016) 3617. Fewer than 2 pairs: 1.
    """
    result = np.ones(len(log_ratios))
    counts = np.array([len(values) for values in log_ratios])
    for n in np.unique(counts[counts >= 2]).tolist():
        cells = np.flatnonzero(counts == n).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # pairs without any spread
            tested = stats.ttest_1samp(np.array([log_ratios[i] for i in cells]), 0.0, axis=1)
        result[cells] = np.nan_to_num(tested.pvalue, nan=1.0)  # 0/0: not the least difference
    return result


def rejects_normality(log_ratios: Sequence[Floats]) -> int:
    """How many cells' paired log ratios fail Shapiro and Wilk's test of normality at 5 %."""
    tested = (v for v in log_ratios if len(v) >= 3 and np.ptp(v) > ROUNDING)
    return sum(bool(stats.shapiro(values).pvalue < LEVEL) for values in tested)


def holm(p: ArrayLike) -> Floats:
    """p-values adjusted for their number by Holm's step-down method, in the order given.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65. Valid under any dependence.
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values)
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def two_modes(medians: ArrayLike) -> NDArray[np.bool_] | None:
    """Which launch medians belong to the upper of two modes; None when there is but one.

    Two modes: at least two launches on either side of a gap that is above 5 % and above twice the
    spread of both sides together. Simulated launches with one normal, heavy-tailed or uniform mode
    pass for two in under 4 % of cases at 6 launches, and under 0.5 % at 9 and 12.
    """
    values = np.asarray(medians, dtype=float)
    if len(values) < 6 or values.min() <= 0:
        return None
    ordered = np.sort(values)
    for k in range(2, len(ordered) - 1):
        # Ratios, not differences of logarithms, whose last digits depend on the CPU.
        gap = ordered[k] / ordered[k - 1]
        spread = (ordered[k - 1] / ordered[0]) * (ordered[-1] / ordered[k])
        if gap > 1 + MODE_GAP and gap > spread * spread:
            return np.asarray(values >= ordered[k])
    return None


def two_paces(samples: ArrayLike) -> NDArray[np.bool_] | None:
    """Which samples of one launch belong to the upper of two paces; None when there is but one.

    The split with the least variance within its sides (of the logarithms; Otsu, IEEE SMC 9 (1979)
    62), if each side has a quarter of the samples or more, and the valley between them (from the
    95th percentile of the lower side to the 5th of the upper) is wider than 5 % and than both sides
    together (each from its 5th to its 95th percentile). Samples with one normal, heavy-tailed,
    uniform or exponential mode pass for two in under 4 % of cases at 11 samples, and in none at 20.
    """
    values = np.asarray(samples, dtype=float)
    count = len(values)
    if count < PACE_SAMPLES or values.min() <= 0:
        return None
    ordered = np.sort(np.log(values))
    least = math.ceil(PACE_SHARE * count)
    sizes = np.arange(least, count - least + 1)  # of the lower side
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    lower = squares[sizes - 1] - sums[sizes - 1] ** 2 / sizes
    upper = squares[-1] - squares[sizes - 1] - (sums[-1] - sums[sizes - 1]) ** 2 / (count - sizes)
    size = int(sizes[np.argmin(lower + upper)])
    sides = ordered[:size], ordered[size:]
    (first, low), (high, last) = (np.quantile(side, [0.05, 0.95]) for side in sides)
    if high - low <= max(np.log1p(MODE_GAP), (low - first) + (last - high)):
        return None
    return np.asarray(np.log(values) >= sides[1][0])


def drifting(deviations: ArrayLike) -> NDArray[np.bool_]:
    """Which blocks' probes went astray; `deviations` are relative to the median, in block order.

    More than 5 % off, and more than 3.5 scaled median absolute deviations of all blocks (Iglewicz
    and Hoaglin, 1993). With a trend (Kendall's tau, p < 0.01) more than 2 % off is enough.
    """
    values = np.asarray(deviations, dtype=float)
    far = np.abs(values)
    if len(values) >= 3 and np.ptp(values) > 0:
        trend = stats.kendalltau(np.arange(len(values)), values)
        if trend.pvalue < TREND_LEVEL:
            return np.asarray(far > TREND_LIMIT)
    scale = stats.median_abs_deviation(values, scale="normal")
    return np.asarray(far > max(DRIFT_LIMIT, 3.5 * float(scale)))


class Hockney(NamedTuple):
    """t(s) = latency + s / bandwidth."""

    latency_us: float
    asymptotic_gbs: float
    half_peak_bytes: float
    worst_error: float


def hockney(sizes: ArrayLike, times_us: ArrayLike) -> Hockney | None:
    """Hockney's model fitted to times (us) of messages (bytes), in relative error, robustly.

    Least squares of the logarithms with the soft L1 loss, so that a protocol's step bends the fit
    little and small messages count as much as large ones. Source: Hockney, Parallel Computing 20
    (1994) 389. None with fewer than 3 sizes, or when the largest takes less than twice the
    smallest time: then nothing in the data tells a bandwidth. None, too, where the best latency
    or time per byte tends to nothing, or no best is found.

    Reweighted Gauss-Newton steps, each of two equations solved by hand, to where the gradient is
    nothing: the same on any CPU to some 12 digits. A minimiser that compares sums of squares sees
    but half of the digits, and where it stops depends on how the CPU and its BLAS round.
    """
    s = np.asarray(sizes, dtype=float)
    t = np.asarray(times_us, dtype=float)
    if len(np.unique(s)) < 3 or t.min() <= 0 or t[s.argmax()] < 2 * t.min():
        return None

    latency, us_per_byte = float(t.min()), float(t[s.argmax()] / s.max())
    for _ in range(MOST_STEPS):
        times = latency + s * us_per_byte
        fixed, growing = latency / times, s * us_per_byte / times  # derivatives of log(times)
        if min(fixed.max(), growing.max()) < LEAST_SHARE:
            return None
        errors = np.log(times / t)
        weights = 1 / np.sqrt(1 + (errors / SOFT) ** 2)
        a, b, c = (
            float(np.sum(weights * one * other))
            for one, other in ((fixed, fixed), (fixed, growing), (growing, growing))
        )
        u, v = (float(np.sum(weights * one * errors)) for one in (fixed, growing))
        determinant = a * c - b * b
        if determinant <= 0:  # but for rounding, the sizes are all alike
            return None
        first, second = (b * v - c * u) / determinant, (b * u - a * v) / determinant
        latency *= math.exp(min(max(first, -1), 1))  # at first, steps may be far too long
        us_per_byte *= math.exp(min(max(second, -1), 1))
        if max(abs(first), abs(second)) < CONVERGED:
            worst = float(np.abs((latency + s * us_per_byte) / t - 1).max())
            return Hockney(latency, 1e-3 / us_per_byte, latency / us_per_byte, worst)
    return None
