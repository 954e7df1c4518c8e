# SPDX-License-Identifier: Apache-2.0
"""The ratio of two alternatives with its interval and p-value.

docs/methods/statistics.md explains the choice of tests.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.statistics.intervals import Interval, interval
from nearpeak.statistics.levels import CONFIDENCE

Key = TypeVar("Key", bound=Hashable)
SIGN = {"higher": 1.0, "lower": -1.0}  # of a value, so that the best one is the highest


class Ratio(NamedTuple):
    """The median of the ratios in the blocks that both alternatives ran in."""

    value: float
    bounds: Interval | None  # None where blocks are too few for the level (intervals.weights)


class Comparison(NamedTuple):
    """The second alternative against the first, as a ratio."""

    ratio: float
    ci95: Interval | None  # None where launches are too few for one (intervals.weights)
    p_value: float  # two-sided, of ratio 1, unadjusted


def better_by(value: float, other: float, better: str) -> float:
    """The factor by which a value is better than another, both above 0; above 1: it is better."""
    return value / other if better == "higher" else other / value


def better_in(
    values: Mapping[Key, float], others: Mapping[Key, float], better: str
) -> dict[Key, float]:
    """`better_by` in each block that has both values, in the order of `values`."""
    return {
        block: better_by(value, others[block], better)
        for block, value in values.items()
        if value > 0 and others.get(block, 0.0) > 0
    }


def median_ratio(
    log_ratios: ArrayLike, sessions: Sequence[int] | None = None, level: float = CONFIDENCE
) -> Ratio:
    """The median ratio of one or more log ratios; swapping the alternatives inverts it.

    No distribution is assumed. `sessions` numbers the session of each log ratio.
    """
    values = np.asarray(log_ratios, dtype=float)
    bounds = interval(values, level, sessions)
    return Ratio(
        math.exp(float(np.median(values))),
        None if bounds is None else (math.exp(bounds[0]), math.exp(bounds[1])),
    )
