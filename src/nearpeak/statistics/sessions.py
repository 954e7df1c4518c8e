# SPDX-License-Identifier: Apache-2.0
"""Statistics of sessions, each of which may deviate as a whole."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from nearpeak.arrays import Floats, Indices

POOLED = 0.75  # the quantile of F up to which sessions are taken for equal
ENOUGH_LAUNCHES = 3  # the median of fewer may lie as far off as a single launch


class Part(NamedTuple):
    """A squared standard error, with the degrees of freedom of its estimate."""

    variance: float
    freedom: float


def sessions_with_enough_launches(sessions: Sequence[int]) -> Indices:
    """The sessions with at least `ENOUGH_LAUNCHES`; `sessions`: the session of each launch."""
    numbers, counts = np.unique(np.asarray(sessions, dtype=np.intp), return_counts=True)
    return np.asarray(numbers[counts >= ENOUGH_LAUNCHES])


def apart(values: ArrayLike, sessions: Sequence[int], *, positive: bool = False) -> bool:
    """True if sessions differ by more than launches explain; `sessions`: of each value.

    By the F-test of one-way analysis of variance, above the 75 % point of F: launches alone exceed
    it in a quarter of cases. A test that decides on pooling is this lenient (Bancroft, Biometrics
    20 (1964) 427): at the usual 5 % a real difference would often be pooled away. `positive` as in
    `intervals.interval`. Only sessions with enough launches count; False with fewer than two.
    """
    if len(set(sessions)) < 2:  # as in most studies
        return False
    data = _scaled(values, positive)
    session_of = np.asarray(sessions)
    enough = np.isin(session_of, sessions_with_enough_launches(sessions))
    data = data[enough]
    data = data - data[:1]  # equal values become exactly 0
    numbers, which = np.unique(session_of[enough], return_inverse=True)
    count, groups = len(data), len(numbers)
    if groups < 2:
        return False
    sizes = np.bincount(which)
    means = np.bincount(which, weights=data) / sizes
    within = float(np.sum((data - means[which]) ** 2)) / (count - groups)
    between = float(np.sum(sizes * (means - data.mean()) ** 2)) / (groups - 1)
    return between > float(scipy.special.fdtri(groups - 1, count - groups, POOLED)) * within


def medians(values: ArrayLike, sessions: Sequence[int]) -> Floats:
    """The median of each session with enough launches."""
    data, which = np.asarray(values, dtype=float), np.asarray(sessions)
    return np.array(
        [np.median(data[which == session]) for session in sessions_with_enough_launches(sessions)]
    )


def student(values: ArrayLike, level: float, *, positive: bool = False) -> tuple[float, float]:
    """Student's interval of the mean of two values or more, in their unit.

    If `positive`, of the mean of their logarithms.
    """
    data = np.asarray(values, dtype=float)
    positive = positive and data.min() > 0
    data = _scaled(data, positive)
    mean = float(data.mean())
    far = reach(Part(float(data.var(ddof=1)) / len(data), len(data) - 1), level)
    ends = mean - far, mean + far
    return (math.exp(ends[0]), math.exp(ends[1])) if positive else ends


def reach(uncertain: Part, level: float) -> float:
    """Half the width of Student's interval of a mean."""
    quantile = float(scipy.special.stdtrit(uncertain.freedom, (1 + level) / 2))
    return quantile * math.sqrt(uncertain.variance)


def added(first: Part, second: Part) -> Part:
    """The error of the sum, or the difference, of two independent means.

    The degrees of freedom by Satterthwaite (Biometrics Bulletin 2 (1946) 110) and Welch
    (Biometrika 34 (1947) 28).
    """
    total = first.variance + second.variance
    if total <= 0:
        return Part(0.0, first.freedom + second.freedom)
    parts = sum(p.variance**2 / p.freedom for p in (first, second))
    return Part(total, total**2 / parts)


def t_test(mean: float, uncertain: Part) -> float:
    """Two-sided p-value of a mean against 0; 1 if neither values nor mean deviate from 0."""
    if uncertain.variance <= 0:
        return 1.0 if mean == 0 else 0.0
    t = abs(mean) / math.sqrt(uncertain.variance)
    return float(2 * scipy.special.stdtr(uncertain.freedom, -t))


def _scaled(values: ArrayLike, positive: bool) -> Floats:
    """The logarithms of positive values, as sessions deviate by factors; else the values."""
    data = np.asarray(values, dtype=float)
    return np.log(data) if positive and data.min() > 0 else data
