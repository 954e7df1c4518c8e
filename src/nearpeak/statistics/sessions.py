# SPDX-License-Identifier: Apache-2.0
"""Sessions as a random factor: how sure a mean is when each session has a deviation of its own."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special


class Error(NamedTuple):
    """The squared standard error of a mean (in the squared unit of its values)."""

    variance: float
    freedom: float  # degrees of freedom of that estimate


def error(values: ArrayLike, sessions: Sequence[int] | None = None) -> Error:
    """How sure the mean of two values or more is; `sessions` numbers the session of each.

    Without sessions, with one, or where each value is a session of its own: variance / n. With
    several, value = mean + deviation of the session + own deviation, and the variance between
    sessions is added as estimated by the analysis of variance, no less than 0 (Searle, Casella
    and McCulloch, Variance Components, 1992, section 3.6); the degrees of freedom by Satterthwaite
    (Biometrics Bulletin 2 (1946) 110).
    """
    data = np.asarray(values, dtype=float)
    count = len(data)
    pooled = Error(float(data.var(ddof=1)) / count, count - 1)
    if sessions is None:
        return pooled
    numbers, which = np.unique(np.asarray(sessions), return_inverse=True)
    groups = len(numbers)
    if groups < 2 or groups == count:
        return pooled

    sizes = np.bincount(which)
    means = np.bincount(which, weights=data) / sizes
    within = float(np.sum((data - means[which]) ** 2)) / (count - groups)
    between = float(np.sum(sizes * (means - data.mean()) ** 2)) / (groups - 1)
    share = float(np.sum(sizes**2)) / count**2  # of a session's variance that is left in the mean
    excess = max(0.0, between - within) * (groups - 1) / (count * (1 - share))
    if excess == 0:
        return pooled
    own, shared = within / count, excess * share
    total = own + shared
    return Error(total, total**2 / (own**2 / (count - 1) + shared**2 / (groups - 1)))


def quantile(level: float, freedom: float) -> float:
    """Of Student's t: how many standard errors the two-sided interval of `level` reaches."""
    return float(special.stdtrit(freedom, (1 + level) / 2))


def t_test(mean: float, uncertain: Error) -> float:
    """Two-sided p-value of a mean against 0; 1 where nothing deviates, not even the mean."""
    if uncertain.variance <= 0:
        return 1.0 if mean == 0 else 0.0
    t = abs(mean) / math.sqrt(uncertain.variance)
    return float(2 * special.stdtr(uncertain.freedom, -t))


def welch(first: Error, second: Error) -> Error:
    """Of the difference of two independent means; Welch (Biometrika 34 (1947) 28)."""
    total = first.variance + second.variance
    if total <= 0:
        return Error(0.0, first.freedom + second.freedom)
    parts = sum(e.variance**2 / e.freedom for e in (first, second))
    return Error(total, total**2 / parts)
