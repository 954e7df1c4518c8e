# SPDX-License-Identifier: Apache-2.0
"""Tests many questions on the same few blocks, with one error rate for any distribution.

Each question is a row of log ratios, one in each block. Where two alternatives do not differ, all
rows of a block may as well have the other sign: both launches have one distribution. So the signs
of whole blocks are flipped, in all rows at once, and a row differs where its statistic is larger
than the largest of all rows is under nearly every flip (Westfall and Young, Resampling-Based
Multiple Testing, 1993, step-down maxT; Romano and Wolf, JASA 100 (2005) 94). No p-value is below 1
/ 2^(n - 1) with n blocks, however many rows there are, and none rises because rows depend on one
another.

With many blocks only the flips of a group are tested, which keeps the test exact (Hemerik and
Goeman, TEST 27 (2018) 811): all sequences of a shift register of 10 bits. Any 10 blocks in a row
have all of their flips there, so that a row with k of them still has a p-value of 1 / 2^(k - 1) at
least.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.statistics.blocks import EXACT_BLOCKS, blocks_needed

REGISTER = 10  # bits; a(n + 10) = a(n + 3) + a(n), of the primitive polynomial x^10 + x^3 + 1
TAP = 7
CHUNK = 256  # flips at once, to limit memory
# The weight, in blocks, of the scatter that rows share.
SHARED_BLOCKS = 6
ROUNDING = 1e-9  # relative: values this near are the same on any CPU


def adjusted(rows: Floats, kinds: Sequence[int] | None = None, families: int = 1) -> Floats:
    """The two-sided p-value of each row against 0, adjusted for all rows.

    `families`: the number of such sets of rows that are judged together. A row with fewer blocks
    than these need (`blocks_needed`) has the p-value 1 and takes no part: otherwise no weaker row
    could be judged after it.

    `rows`: rows x blocks, log ratios; nan where a row lacks a block. The statistic is Student's t
    with a scatter that the row shares with the others of its kind (`kinds`, a number for each row;
    None: all of one kind): a few blocks alone know their own scatter badly. It is n m^2 / (k s^2 +
    sum of squares), which grows only with that t; m is the mean, s the median over the kind of the
    deviation of absolute values, which no flip changes, and k `SHARED_BLOCKS`.
    """
    row_kinds: Indices = np.zeros(len(rows), dtype=np.intp) if kinds is None else np.asarray(kinds)
    testable = (~np.isnan(rows)).sum(axis=1) >= blocks_needed(families)
    p_values = np.ones(len(rows))
    if testable.any():
        p_values[testable] = _step_down(rows[testable], row_kinds[testable])
    return p_values


def _step_down(rows: Floats, kinds: Indices) -> Floats:
    flips = _flips(rows.shape[1])
    tested = _Rows.from_rows(rows, _shared(rows, kinds))
    observed = tested.statistic(flips[:1])[:, 0]
    order = np.argsort(observed, kind="stable")  # the least first
    tested = _Rows(tested.values[order], tested.scale[order])
    limits = observed[order, None] * (1 - ROUNDING)
    reached = np.zeros(len(rows))
    for start in range(0, len(flips), CHUNK):
        statistics = tested.statistic(flips[start : start + CHUNK])
        largest = np.maximum.accumulate(
            statistics, axis=0, out=statistics
        )  # of a row and all before it
        reached += np.count_nonzero(largest >= limits, axis=1)
    p_values = np.empty(len(rows))
    p_values[order] = np.maximum.accumulate(reached[::-1] / len(flips))[::-1]
    return p_values


def unadjusted(rows: Floats) -> Floats:
    """The two-sided p-value of each row against 0, not adjusted; 1 without any block."""
    flips = _flips(rows.shape[1])
    tested = _Rows.from_rows(rows, np.zeros(len(rows)))
    limits = tested.statistic(flips[:1]) * (1 - ROUNDING)
    reached = np.zeros(len(rows))
    for start in range(0, len(flips), CHUNK):
        reached += (tested.statistic(flips[start : start + CHUNK]) >= limits).sum(axis=1)
    return np.asarray(reached / len(flips))


class _Rows(NamedTuple):
    """The terms of the statistic of each row."""

    values: Floats  # rows x blocks; 0 where a row lacks the block
    scale: Floats  # of each row

    @classmethod
    def from_rows(cls, rows: Floats, shared: Floats) -> "_Rows":
        """`shared`: the scatter that each row has in common with others."""
        present = ~np.isnan(rows)
        values = np.where(present, rows, 0.0)
        squares = (values**2).sum(axis=1) + SHARED_BLOCKS * shared**2
        scale = np.maximum(present.sum(axis=1), 1) * np.where(squares > 0, squares, 1.0)
        return cls(values, scale)

    def statistic(self, signs: Floats) -> Floats:
        """The statistic of each row (first axis) under each flip (second axis)."""
        sums = self.values @ signs.T
        np.square(sums, out=sums)
        sums /= self.scale[:, None]
        return np.asarray(sums)


@lru_cache(maxsize=4)
def _flips(blocks: int) -> Floats:
    """Signs of the blocks: flips x blocks, first without any flip.

    Opposite flips have the same statistics: only one of the two is listed.
    """
    if blocks <= EXACT_BLOCKS:
        rest = itertools.product((1.0, -1.0), repeat=max(blocks - 1, 0))
        return np.array([(1.0, *signs) for signs in rest])[:, :blocks]
    states = np.arange(2**REGISTER)  # state 0 flips nothing
    bits = [states >> place & 1 for place in range(REGISTER)]
    while len(bits) < blocks:
        bits.append(bits[-TAP] ^ bits[-REGISTER])
    return np.asarray(1.0 - 2.0 * np.array(bits).T)


def _shared(rows: Floats, kinds: Indices) -> Floats:
    """The scatter that each row has in common with those of its kind."""
    several = (~np.isnan(rows)).sum(axis=1) >= 2
    deviations = np.full(len(rows), np.nan)
    deviations[several] = np.nanstd(np.abs(rows[several]), axis=1, ddof=1)
    shared = np.zeros(len(rows))
    for kind in np.unique(kinds):
        members = kinds == kind
        if (members & several).any():
            shared[members] = np.median(deviations[members & several])
    return shared
