# SPDX-License-Identifier: Apache-2.0
"""Sessions as a random factor: how sure a mean is when each session has a deviation of its own."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special


class Part(NamedTuple):
    """A squared standard error, and the degrees of freedom it was estimated with."""

    variance: float
    freedom: float


class Error(NamedTuple):
    """How sure a mean is, in the unit of its values."""

    launches: Part
    sessions: Part | None = None  # None where sessions add nothing

    def reach(self, level: float) -> float:
        """Half the width of Student's interval of the mean.

        Each part reaches as far as its own degrees of freedom ask for (as Cochran and Cox do with
        two variances, Experimental Designs, 2nd edition, 1957, section 4.14).
        """
        parts = [self.launches] if self.sessions is None else [self.launches, self.sessions]
        return math.sqrt(
            sum(p.variance * float(special.stdtrit(p.freedom, (1 + level) / 2)) ** 2 for p in parts)
        )

    @property
    def total(self) -> Part:
        """Both parts as one."""
        return self.launches if self.sessions is None else added(self.launches, self.sessions)


def error(values: ArrayLike, sessions: Sequence[int] | None = None) -> Error:
    """How sure the mean of two values or more is; `sessions` numbers the session of each.

    Without sessions, with one, or where each value is a session of its own: variance / n. With
    several, value = mean + deviation of the session + own deviation, and the variance between
    sessions is added as the analysis of variance estimates it, but no less than 0 (Searle,
    Casella and McCulloch, Variance Components, 1992, section 3.6).
    """
    data = np.asarray(values, dtype=float)
    count = len(data)
    pooled = Error(Part(float(data.var(ddof=1)) / count, count - 1))
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
    excess = (between - within) * (groups - 1) / (count * (1 - share))
    if excess <= 0:
        return pooled
    return Error(Part(within / count, count - groups), Part(excess * share, groups - 1))


def added(first: Part, second: Part) -> Part:
    """Of the sum, or the difference, of two independent means.

    The degrees of freedom by Satterthwaite (Biometrics Bulletin 2 (1946) 110) and Welch
    (Biometrika 34 (1947) 28).
    """
    total = first.variance + second.variance
    if total <= 0:
        return Part(0.0, first.freedom + second.freedom)
    parts = sum(p.variance**2 / p.freedom for p in (first, second))
    return Part(total, total**2 / parts)


def t_test(mean: float, uncertain: Part) -> float:
    """Two-sided p-value of a mean against 0; 1 where nothing deviates, not even the mean."""
    if uncertain.variance <= 0:
        return 1.0 if mean == 0 else 0.0
    t = abs(mean) / math.sqrt(uncertain.variance)
    return float(2 * special.stdtr(uncertain.freedom, -t))
