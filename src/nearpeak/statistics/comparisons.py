# SPDX-License-Identifier: Apache-2.0
"""Two alternatives side by side: how far apart they are, and how sure that is.

docs/methodology.md says why these tests.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.statistics.intervals import Interval, interval
from nearpeak.statistics.levels import CONFIDENCE

Key = TypeVar("Key", bound=Hashable)


class Ratio(NamedTuple):
    """The median of the ratios in the blocks that both alternatives ran in."""

    value: float
    bounds: Interval | None  # None where blocks are too few for the level (intervals.weights)


class Comparison(NamedTuple):
    """The second alternative against the first, as a ratio."""

    ratio: float
    ci95: Interval | None  # None where launches are too few for one (intervals.weights)
    p_value: float  # two-sided, of ratio 1, not adjusted for other comparisons


def better_by(value: float, other: float, better: str) -> float:
    """How many times better a value is than another, both above 0: above 1 it is the better one."""
    return value / other if better == "higher" else other / value


def better_in(
    values: Mapping[Key, float], others: Mapping[Key, float], better: str
) -> dict[Key, float]:
    """The same in each block that has both, in the order of `values`."""
    return {
        block: better_by(value, others[block], better)
        for block, value in values.items()
        if value > 0 and others.get(block, 0.0) > 0
    }


def median_ratio(
    log_ratios: ArrayLike, sessions: Sequence[int] | None = None, level: float = CONFIDENCE
) -> Ratio:
    """Of log ratios, one or more: the same whichever of the two alternatives is the first.

    No distribution is assumed. `sessions` numbers the session of each.
    """
    values = np.asarray(log_ratios, dtype=float)
    bounds = interval(values, level, sessions)
    return Ratio(
        math.exp(float(np.median(values))),
        None if bounds is None else (math.exp(bounds[0]), math.exp(bounds[1])),
    )
