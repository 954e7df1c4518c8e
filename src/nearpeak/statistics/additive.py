# SPDX-License-Identifier: Apache-2.0
"""Separates slow nodes from slow links: values of pairs as mean + node + node + link.

Tukey's median polish (Exploratory Data Analysis, 1977, chapter 11) of a table whose rows and
columns are the same nodes. A node counts with the median of all its pairs, so that a few slow links
do not make a node slow, nor a slow node its links. docs/methods/nodes.md explains the choice of
tests.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from nearpeak.arrays import Floats, Indices
from nearpeak.statistics.intervals import Interval

Numbers = NDArray[np.floating]
MOST_STEPS = 30
PRECISE = 1e-4  # of a logarithm: a hundredth of a percent
MANY = 8  # pairs of every node, with which whole steps do not swing
DRAWS, SEED = 4000, 0


class Fit(NamedTuple):
    """The parts of the values, as logarithms."""

    mean: float
    nodes: Floats  # their median is 0; nan: measured in no pair
    links: Floats  # residual of each value

    def residuals(self, first: Indices, second: Indices, values: Numbers) -> Floats:
        """The residuals of other values."""
        return np.asarray(values - self.mean - self.nodes[first] - self.nodes[second], dtype=float)


class Design(NamedTuple):
    """The two nodes of each value: the same for all metrics of the same pairs."""

    first: Indices
    second: Indices
    # nodes x most values of any node: indexes of values, or the number of values as a filler
    rows: NDArray[np.int32]
    numbers: Indices  # values of each node


def design(first: Indices, second: Indices, count: int) -> Design:
    """Indexes values between the nodes `first` and `second` of `count`."""
    both = np.concatenate([first, second])
    order = np.argsort(both, kind="stable")
    numbers = np.bincount(both, minlength=count)
    starts = np.concatenate([[0], np.cumsum(numbers)[:-1]])
    rows = np.full((count, int(numbers.max())), len(first), dtype=np.int32)
    places = np.arange(len(both)) - np.repeat(starts, numbers)
    rows[both[order], places] = order % len(first)
    return Design(first, second, rows, numbers)


def fit(pairs: Design, values: Numbers) -> Fit:
    """Fits values (logarithms) by median polish; without values all is nan."""
    used = pairs.numbers > 0
    if not len(values):
        return Fit(math.nan, np.full(len(used), math.nan), np.zeros(0))
    step = 1.0 if int(pairs.numbers[used].min()) >= MANY else 0.5
    nodes = np.zeros(len(used))
    mean = float(np.median(values))
    residuals = (values - mean).astype(np.float32)
    for _ in range(MOST_STEPS):
        change = step * np.where(used, medians(residuals, pairs), 0.0)
        shift = float(np.median((nodes + change)[used]))
        change[used] -= shift
        nodes += change
        mean += 2 * shift
        residuals -= (change[pairs.first] + change[pairs.second] + 2 * shift).astype(np.float32)
        if np.abs(change).max() < PRECISE:
            break
    links = np.asarray(values - mean - nodes[pairs.first] - nodes[pairs.second], dtype=float)
    return Fit(mean, np.where(used, nodes, np.nan), links)


def medians(values: NDArray[np.float32], pairs: Design) -> Floats:
    """The median of each node; nan without values."""
    table = np.append(values, np.float32(np.inf))[pairs.rows]
    table.sort(axis=1)
    numbers, last = pairs.numbers, table.shape[1] - 1
    node_rows = np.arange(len(table))
    low, high = np.maximum((numbers - 1) // 2, 0), np.minimum(numbers // 2, last)
    with np.errstate(invalid="ignore"):
        middle = (table[node_rows, low].astype(float) + table[node_rows, high]) / 2
    return np.where(numbers > 0, middle, np.nan)


def lower_median(values: Floats) -> Floats:
    """The median of the last axis, the lower one of an even number; nan if all are."""
    ordered = np.sort(values, axis=-1)  # nan last
    middle = np.maximum(np.isfinite(ordered).sum(axis=-1, keepdims=True) - 1, 0) // 2
    return np.asarray(np.take_along_axis(ordered, middle, axis=-1)[..., 0])


def spread(values: Numbers) -> float:
    """The robust standard deviation: 1.4826 times the median distance from the median."""
    finite = values[np.isfinite(values)]
    return 1.4826 * float(np.median(np.abs(finite - np.median(finite)))) if len(finite) else 0.0


class Excess(NamedTuple):
    """The time of each subject over the usual time, as logarithms."""

    middle: Floats  # the median over the launches
    p_values: Floats  # that it is within the margin, not adjusted; 1 where launches are too few
    noise: Floats  # distances of all launches from the median of their subject, sorted

    def reach(self, launches: int) -> Interval | None:
        """The 95 % range of the median of `launches` launches about that of many launches.

        By Efron's bootstrap of the launches of all subjects. None without any scatter.
        """
        if not len(self.noise):
            return None
        drawn = np.random.default_rng(SEED).choice(self.noise, size=(DRAWS, launches))
        low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
        return float(low), float(high)


def excess(values: Floats, margin: float) -> Excess:
    """Tests each subject (rows) for being slower than `margin`.

    `values`: subjects x launches (logarithms, nan: not measured).

    A launch counts against a subject by how rarely a launch lies as far from the median of its
    subject: the share of all launches of all subjects that do. No distribution is assumed but that
    launches of one subject scatter as those of another. Launches scatter independently, so that
    their shares are combined, in two ways of which the better one counts twice: as Fisher does
    (Statistical Methods for Research Workers, 1932, section 21.1), and by the least convincing one
    to the power of their number (Tippett's method for the largest; Wilkinson, Psychological
    Bulletin 48 (1951) 156). Each launch must be beyond the margin: one that was disturbed, however
    much, is not enough.
    """
    counts = np.isfinite(values).sum(axis=1)
    with np.errstate(all="ignore"):
        middle = _row_medians(values, counts)
        off = (values - middle[:, None]) * np.sqrt(counts / np.maximum(counts - 1, 1))[:, None]
    several = (counts > 1)[:, None] & np.isfinite(off)
    noise = np.sort(off[several])
    least = np.where(counts > 0, np.min(np.where(np.isfinite(values), values, np.inf), axis=1), 0.0)
    beyond = len(noise) - np.searchsorted(noise, values - margin, side="left")
    shares = np.where(np.isfinite(values), (1 + beyond) / (len(noise) + 1), 1.0)
    fisher = scipy.special.chdtrc(2 * counts, -2 * np.log(shares).sum(axis=1))
    largest = np.max(np.where(np.isfinite(values), shares, 0.0), axis=1) ** counts
    p_values = np.minimum(2 * np.minimum(fisher, largest), 1.0)
    return Excess(middle, np.where((counts > 1) & (least > margin), p_values, 1.0), noise)


def _row_medians(values: Floats, counts: Indices) -> Floats:
    ordered = np.sort(values, axis=1)  # nan last
    indices = np.arange(len(values))
    low, high = np.maximum((counts - 1) // 2, 0), np.maximum(counts // 2, 0)
    high = np.minimum(high, max(values.shape[1] - 1, 0))
    return np.asarray((ordered[indices, low] + ordered[indices, high]) / 2)


def holm(p_values: Floats, tests: int) -> Floats:
    """p-values adjusted for `tests` tests in all: Holm's step-down (Scandinavian Journal of
    Statistics 6 (1979) 65), which holds for dependent tests."""
    order = np.argsort(p_values, kind="stable")
    factors = tests - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted
