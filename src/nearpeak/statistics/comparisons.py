# SPDX-License-Identifier: Apache-2.0
"""Two alternatives side by side: how far apart they are, and how sure that is.

docs/methodology.md says why these tests.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.statistics import intervals
from nearpeak.statistics.intervals import Interval, interval
from nearpeak.statistics.sessions import error, t_test

LEVEL = 0.05  # of every test
ROUNDING = 1e-12  # a spread of logarithms that is none
Key = TypeVar("Key", bound=Hashable)


class Ratio(NamedTuple):
    """The median of the ratios in the blocks that both alternatives ran in."""

    value: float
    bounds: Interval | None  # None where blocks are too few for the level (intervals.weights)


class Comparison(NamedTuple):
    """The second alternative against the first, as a ratio."""

    ratio: float
    ci95: Interval | None  # None where launches are too few for one (intervals.weights)
    p_value: float  # two-sided, of ratio 1, not adjusted for other comparisons


def p_value(log_ratios: ArrayLike, sessions: Sequence[int] | None = None) -> float:
    """Two-sided p-value of log ratios against 0: Student's paired t-test. Fewer than 2: 1.

    A rank test on 6 pairs cannot go below 2/64, so that after any adjustment for many comparisons
    it could never judge one; the t-test can. Source of the choice: Hunold and Carpen-Amarie, IEEE
    TPDS 27 (2016) 3617.
    """
    values = np.asarray(log_ratios, dtype=float)
    if len(values) < 2:
        return 1.0
    return t_test(float(values.mean()), error(values, sessions).total)


def better_by(value: float, other: float, better: str) -> float:
    """How many times better a value is than another, both above 0: above 1 it is the better one."""
    return value / other if better == "higher" else other / value


def better_in(
    values: Mapping[Key, float], others: Mapping[Key, float], better: str
) -> dict[Key, float]:
    """The same in each block that has both, in the order of `values`."""
    return {
        block: better_by(value, others[block], better)
        for block, value in values.items()
        if value > 0 and others.get(block, 0.0) > 0
    }


def median_ratio(
    log_ratios: ArrayLike, sessions: Sequence[int] | None = None, level: float = intervals.LEVEL
) -> Ratio:
    """Of log ratios, one or more: the same whichever of the two alternatives is the first.

    No distribution is assumed. `sessions` numbers the session of each.
    """
    values = np.asarray(log_ratios, dtype=float)
    bounds = interval(values, level, sessions)
    return Ratio(
        math.exp(float(np.median(values))),
        None if bounds is None else (math.exp(bounds[0]), math.exp(bounds[1])),
    )


def paired(log_ratios: ArrayLike, sessions: Sequence[int] | None = None) -> Comparison:
    """The comparison in the blocks that both alternatives ran in, one or more: a log ratio each."""
    ratio = median_ratio(log_ratios, sessions)
    return Comparison(ratio.value, ratio.bounds, p_value(log_ratios, sessions))


def rejects_normality(log_ratios: Iterable[ArrayLike]) -> int:
    """How many sets of paired log ratios fail Shapiro and Wilk's test of normality at 5 %."""
    from scipy.stats import shapiro  # takes a second

    tested = (np.asarray(values, dtype=float) for values in log_ratios)
    return sum(
        bool(shapiro(values).pvalue < LEVEL)
        for values in tested
        if len(values) >= 3 and np.ptp(values) > ROUNDING
    )
