# SPDX-License-Identifier: Apache-2.0
"""What is slow, a node or the link between two: values of pairs as mean + node + node + link.

Tukey's median polish (Exploratory Data Analysis, 1977, chapter 11) of a table whose rows and
columns are the same nodes: of a node the median of all its pairs counts, so that a few slow links
do not make a node slow, nor a slow node its links. docs/nodes.md says why these tests.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics.intervals import Interval

Numbers = NDArray[np.floating]
LEVEL = 0.05  # of a false verdict, all verdicts together
MOST_STEPS = 30
PRECISE = 1e-4  # of a logarithm: a hundredth of a percent
MANY = 8  # pairs of every node, with which whole steps do not swing
DRAWS, SEED = 4000, 0


class Fit(NamedTuple):
    """Logarithms."""

    mean: float
    nodes: Floats  # their median is 0; nan: measured in no pair
    links: Floats  # of each value, what mean and nodes leave


def fit(first: Indices, second: Indices, values: Numbers, count: int) -> Fit:
    """Of values (logarithms, one or more) between the nodes `first` and `second` of `count`."""
    rows = _rows(first, second, count)
    least = int((rows.of >= 0).sum(axis=1)[rows.used].min())
    step = 1.0 if least >= MANY else 0.5
    nodes = np.zeros(count)
    mean = float(np.median(values))
    for _ in range(MOST_STEPS):
        left = values - mean - nodes[first] - nodes[second]
        change = np.where(rows.used, _medians(left, rows), 0.0)
        nodes += step * change
        shift = float(np.median(nodes[rows.used]))
        nodes[rows.used] -= shift
        mean = float(np.median(values - nodes[first] - nodes[second]))
        if np.abs(change).max() < PRECISE:
            break
    links = np.asarray(values - mean - nodes[first] - nodes[second], dtype=float)
    return Fit(mean, np.where(rows.used, nodes, np.nan), links)


class _Rows(NamedTuple):
    """The values of each node."""

    of: NDArray[np.int32]  # nodes x most values of any, indexes; -1: none more
    used: Booleans  # whether a node has any


def _rows(first: Indices, second: Indices, count: int) -> _Rows:
    both = np.concatenate([first, second])
    order = np.argsort(both, kind="stable")
    numbers = np.bincount(both, minlength=count)
    starts = np.concatenate([[0], np.cumsum(numbers)[:-1]])
    of = np.full((count, int(numbers.max())), -1, dtype=np.int32)
    places = np.arange(len(both)) - np.repeat(starts, numbers)
    of[both[order], places] = order % len(first)
    return _Rows(of, numbers > 0)


def _medians(values: Numbers, rows: _Rows) -> Floats:
    """Of each node; nan of one without any."""
    table = values.astype(np.float32)[rows.of]
    table[rows.of < 0] = np.inf
    table.sort(axis=1)
    numbers = (rows.of >= 0).sum(axis=1)
    at = np.arange(len(table))
    low, high = np.maximum((numbers - 1) // 2, 0), np.minimum(numbers // 2, table.shape[1] - 1)
    with np.errstate(invalid="ignore"):
        middle = (table[at, low].astype(float) + table[at, high]) / 2
    return np.where(rows.used, middle, np.nan)


def spread(values: Numbers) -> float:
    """The standard deviation of most of them: 1.4826 times the median distance from the median."""
    known = values[np.isfinite(values)]
    return 1.4826 * float(np.median(np.abs(known - np.median(known)))) if len(known) else 0.0


class Excess(NamedTuple):
    """How much longer each subject took than what is usual, as logarithms."""

    middle: Floats  # the median over the launches
    p_values: Floats  # that it is within the margin, not adjusted; 1 where launches are too few
    noise: Floats  # how far single launches lie from the median of their subject, of all of them

    def interval(self, subject: int, launches: int) -> Interval | None:
        """The 95 % interval of the median of a subject in so many launches: what medians of as many
        launches of all subjects scatter by (Efron's bootstrap); None without any scatter."""
        if not len(self.noise):
            return None
        drawn = np.random.default_rng(SEED).choice(self.noise, size=(DRAWS, launches))
        low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
        middle = float(self.middle[subject])
        return middle - float(high), middle - float(low)


def excess(values: Floats, margin: float) -> Excess:
    """Of subjects x launches (logarithms, nan: not measured), against no more than `margin`.

    A launch tells against a subject by how rarely any subject lies as far from its own median: the
    share of all launches of all subjects that do. No distribution is assumed but that launches of
    one subject scatter as those of another. Of several launches, which scatter independently, the
    least convincing one counts: all of them are beyond it with its share to the power of their
    number. So one launch that was disturbed, however much, is never enough.
    """
    counts = np.isfinite(values).sum(axis=1)
    with np.errstate(all="ignore"):
        middle = _row_medians(values, counts)
        off = (values - middle[:, None]) * np.sqrt(counts / np.maximum(counts - 1, 1))[:, None]
    several = (counts > 1)[:, None] & np.isfinite(off)
    noise = np.sort(off[several])
    least = np.where(counts > 0, np.min(np.where(np.isfinite(values), values, np.inf), axis=1), 0.0)
    beyond = len(noise) - np.searchsorted(noise, least - margin, side="left")
    share = (1 + beyond) / (len(noise) + 1)
    p_values = np.where((counts > 1) & (least > margin), share.astype(float) ** counts, 1.0)
    return Excess(middle, p_values, noise)


def _row_medians(values: Floats, counts: Indices) -> Floats:
    ordered = np.sort(values, axis=1)  # nan last
    at = np.arange(len(values))
    low, high = np.maximum((counts - 1) // 2, 0), np.maximum(counts // 2, 0)
    high = np.minimum(high, max(values.shape[1] - 1, 0))
    return np.asarray((ordered[at, low] + ordered[at, high]) / 2)


def holm(p_values: Floats, tests: int) -> Floats:
    """p-values adjusted for one another and for as many tests in all: Holm's step-down
    (Scandinavian Journal of Statistics 6 (1979) 65), which holds however they depend."""
    order = np.argsort(p_values, kind="stable")
    factors = tests - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def as_ratio(bounds: Interval | None) -> Interval | None:
    """Of logarithms."""
    return None if bounds is None else (math.exp(bounds[0]), math.exp(bounds[1]))
