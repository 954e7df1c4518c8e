# SPDX-License-Identifier: Apache-2.0
"""The alternative that is first of several, with the share of resamples in which it is."""

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.arrays import Floats

RESAMPLES = 2000
SEED = 0
# Of the resamples: with less, the leader is tied with the alternatives that lead in the rest.
SURE = 0.95


def first_shares(scores: ArrayLike) -> Floats:
    """The share of resamples in which each alternative is first (0 to 1).

    `scores`: alternatives x blocks, at least one block, above is better; -inf where an alternative
    failed in a block. A resample draws as many blocks with replacement, the same for all, so that
    effects of a block on all of them cancel. The best median is first; equal ones share. An
    alternative that failed in half of the drawn blocks is not first. Source: Efron's bootstrap
    (Annals of Statistics 7 (1979) 1); of ranks: Hall and Miller (Annals of Statistics 37 (2009)
    3929).
    """
    values = np.asarray(scores, dtype=float)
    blocks = values.shape[1]
    drawn = np.random.default_rng(SEED).integers(blocks, size=(RESAMPLES, blocks))
    medians = np.median(values[:, drawn], axis=2)
    first = (medians == medians.max(axis=0)) & np.isfinite(medians)
    return np.asarray((first / np.maximum(first.sum(axis=0), 1)).mean(axis=1))


def leaders(shares: ArrayLike) -> list[int]:
    """The fewest alternatives that are first in `SURE` of the resamples, the likeliest in front.

    Empty where none is ever first.
    """
    values = np.asarray(shares, dtype=float)
    order = [int(index) for index in np.argsort(-values, kind="stable") if values[index] > 0]
    reached = np.cumsum(values[order])
    return order[: int(np.searchsorted(reached, SURE - 1e-12)) + 1]
