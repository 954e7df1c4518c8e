# SPDX-License-Identifier: Apache-2.0
"""The statistics that decide whether a cell needs more launches: pure, no files.

The unit is the launch: every number here is a launch median. Nothing is assumed about the shape
of their distribution (docs/methodology.md).
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

CONFIDENCE = 0.95
GOAL_HIGHER = 0.02  # half-width of the interval of a rate, relative to the median
GOAL_LOWER = 0.03  # and of a time


@lru_cache
def order(n: int) -> int | None:
    """The k of the interval [k-th smallest, k-th largest] of n values; None when n is too small.

    The largest k whose interval covers the median with at least 95 %: the number of values below
    the median is binomial(n, 1/2), whatever their distribution. 6 -> 1 (96.9 %), 9 -> 2 (96.1 %),
    12 -> 3 (96.1 %). Source: David and Nagaraja, Order Statistics, 3rd edition, section 7.1.
    """
    k = int(binom.ppf((1 - CONFIDENCE) / 2, n, 0.5))
    return k or None


def interval(medians: ArrayLike) -> tuple[float, float] | None:
    """The 95 % interval of the median of launch medians, in their unit; None below 6 of them."""
    values = np.sort(np.asarray(medians, dtype=float))
    k = order(len(values))
    return None if k is None else (float(values[k - 1]), float(values[-k]))


def goal(better: str) -> float:
    """The margin of a metric, relative: 2 % for rates ("higher"), 3 % for times ("lower")."""
    return GOAL_HIGHER if better == "higher" else GOAL_LOWER


def precise(medians: Sequence[float], better: str) -> bool:
    """Whether the interval's half-width is within the goal: then no more launches are needed."""
    bounds = interval(medians)
    if bounds is None:
        return False
    return (bounds[1] - bounds[0]) / 2 <= goal(better) * float(np.median(medians))
