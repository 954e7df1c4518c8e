# SPDX-License-Identifier: Apache-2.0
"""Which of many questions are answered beyond doubt, whatever launches look like.

Each question is a row of logarithms, one in each block: is their median above 0? The first blocks,
the same ones for all rows, only say when a row is asked: the greatest of their medians first. In
the others the signs are counted, and nothing else: with a median of 0 or below each is positive
with a probability of 1/2 at most. Questions are asked at `ERROR_RATE` / m each, until m of them
have failed, so that any of them is answered wrongly with a probability of at most `ERROR_RATE`,
however rows depend on one another (Hommel and Kropf, Biometrical Journal 47 (2005) 554): wrong can
only be one of the first m whose median is not above 0.
"""

import math
from statistics import median
from typing import NamedTuple

import numpy as np
import scipy

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics.levels import ERROR_RATE, FEWEST_FOR_SIGN

ORDERING = 6  # of so many blocks one gives the order,
DISTURBED = 10  # and of so many that are counted one may be against it


def ordering(blocks: int) -> int:
    """How many of so many blocks, the first ones, give the order."""
    return max(blocks // ORDERING, 1)


def surely_above(rows: Floats) -> Booleans:
    """Which rows surely have a median above 0; wrong about any with a probability of 5 % at most.

    `rows`: rows x blocks in the order of time; nan where a row lacks a block. Sure is no row with
    fewer than `FEWEST_FOR_SIGN` blocks behind those that give the order; last come rows that lack
    these.
    """
    first = ordering(rows.shape[1])
    counted = rows[:, first:]
    blocks = (~np.isnan(counted)).sum(axis=1)
    sure = np.zeros(len(rows), dtype=bool)
    able = blocks[blocks >= FEWEST_FOR_SIGN]
    if not len(able):
        return sure

    # m, by the numbers of blocks alone: in half of the rows one block in 10 may be against. More
    # than all questions cannot fail.
    usual = int(np.sort(able)[(len(able) - 1) // 2])
    failures = min(int(ERROR_RATE / scipy.special.bdtr(usual // DISTURBED, usual, 0.5)), len(able))
    each = ERROR_RATE / failures
    asked = np.flatnonzero(scipy.special.bdtr(0, blocks, 0.5) <= each)
    p = scipy.special.bdtr(blocks - (counted > 0).sum(axis=1), blocks, 0.5)
    for row in _in_order(rows, asked):
        sure[row] = p[row] <= each
        failures -= not sure[row]
        if not failures:
            break
    return sure


class Leading(NamedTuple):
    """The rows that are asked first, as many as can have intervals which hold together."""

    rows: Booleans
    counted: Booleans  # of each block, whether these intervals are of it
    level: float  # of each interval, so that all of them hold in 95 % of studies


def leading(rows: Floats) -> Leading:
    """Which intervals of medians hold together: of the rows that the first blocks put first and
    above 0, in the other blocks. Which and how many these are is known from the first blocks and
    the number of the others (Bonferroni), so that none is chosen by a block that its interval is
    of. The fewer they are, the narrower each is.

    `rows` as of `surely_above`. No row where the blocks do not reach for one interval.
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


def _in_order(rows: Floats, asked: Indices) -> Indices:
    """These rows in the order that the first blocks give: the greatest first."""
    first = ordering(rows.shape[1])
    heights = [-_height(rows[row, :first]) for row in asked]
    return np.asarray(asked[np.argsort(heights, kind="stable")])


def _height(values: Floats) -> float:
    """The median; below all others where a row lacks them."""
    known = values[~np.isnan(values)].tolist()
    return median(known) if known else -math.inf
