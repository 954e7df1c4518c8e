# SPDX-License-Identifier: Apache-2.0
"""Answers many questions one after the other, with one error rate for any distribution.

Each question is a row of logarithms, one in each block: is their median above 0? The first blocks,
the same ones for all rows, only give the order of the tests: the greatest of their medians first.
In the other blocks only the signs are counted: with a median of 0 or below each is positive with a
probability of 1/2 at most. Each question is tested at `ERROR_RATE` / m, until m of them have
failed, so that any answer is wrong with a probability of at most `ERROR_RATE`, for any dependence
of rows (Hommel and Kropf, Biometrical Journal 47 (2005) 554): only the first m rows whose median is
not above 0 can be wrong.
"""

import math
from statistics import median
from typing import NamedTuple

import numpy as np
import scipy

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics.levels import ERROR_RATE, FEWEST_FOR_SIGN

ORDERING = 6  # one of this many blocks gives the order,
DISTURBED = 10  # and one of this many that are counted may be against it


def ordering(blocks: int) -> int:
    """The number of first blocks that give the order, of `blocks` in all."""
    return max(blocks // ORDERING, 1)


def surely_above(rows: Floats) -> Booleans:
    """The rows whose median is significantly above 0; any is wrong with 5 % at most.

    `rows`: rows x blocks in the order of time; nan where a row lacks a block. No row with fewer
    than `FEWEST_FOR_SIGN` counted blocks is significant. Rows without the blocks that give the
    order come last.
    """
    first = ordering(rows.shape[1])
    counted = rows[:, first:]
    blocks = (~np.isnan(counted)).sum(axis=1)
    sure = np.zeros(len(rows), dtype=bool)
    enough = blocks[blocks >= FEWEST_FOR_SIGN]
    if not len(enough):
        return sure

    # m, only by the numbers of blocks: in half of the rows one block in 10 may be against. At most
    # all questions fail.
    usual = int(np.sort(enough)[(len(enough) - 1) // 2])
    failures = min(
        int(ERROR_RATE / scipy.special.bdtr(usual // DISTURBED, usual, 0.5)), len(enough)
    )
    level = ERROR_RATE / failures
    candidates = np.flatnonzero(scipy.special.bdtr(0, blocks, 0.5) <= level)
    p = scipy.special.bdtr(blocks - (counted > 0).sum(axis=1), blocks, 0.5)
    for row in _in_order(rows, candidates):
        sure[row] = p[row] <= level
        failures -= not sure[row]
        if not failures:
            break
    return sure


class Leading(NamedTuple):
    """The first rows of the order, as many as can have joint intervals."""

    rows: Booleans
    counted: Booleans  # of each block: True if these intervals use it
    level: float  # of each interval, so that all of them hold in 95 % of studies


def leading(rows: Floats) -> Leading:
    """The rows whose intervals of the median hold jointly: the first of the order that are above 0.

    The first blocks choose them, and the other blocks give the intervals, so that no row is chosen
    by a block of its interval. The number of other blocks limits how many there are (Bonferroni).
    The fewer rows, the narrower is each interval.

    `rows` as in `surely_above`. No row where the blocks do not suffice for one interval.
    """
    number = rows.shape[1]
    counted = np.arange(number) >= ordering(number)
    # Of n values the widest interval of a median lacks it with a probability of 2 / 2^n.
    heights = np.array([_height(row[~counted]) for row in rows])
    above = np.flatnonzero(heights > 0)
    most = min(int(ERROR_RATE * 2.0 ** (counted.sum() - 1)), len(above))
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[_in_order(rows, above)[:most]] = True
    return Leading(chosen, counted, 1 - ERROR_RATE / max(most, 1))


def _in_order(rows: Floats, chosen: Indices) -> Indices:
    """These rows in the order that the first blocks give: the greatest first."""
    first = ordering(rows.shape[1])
    heights = [-_height(rows[row, :first]) for row in chosen]
    return np.asarray(chosen[np.argsort(heights, kind="stable")])


def _height(values: Floats) -> float:
    """The median; below all others where nothing was measured."""
    measured = values[~np.isnan(values)].tolist()
    return median(measured) if measured else -math.inf
