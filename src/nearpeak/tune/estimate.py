# SPDX-License-Identifier: Apache-2.0
"""What a search believes of its launches: their noise, what a value does by all trials, and what
rounds say of a candidate."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats
from nearpeak.statistics.levels import TOLERATED

LEAST_GAIN = math.log(1.02)  # what is taken makes the targets at least so much faster
SURE = 3.0  # standard errors: of what is taken in the search; the confirmation judges anew
LIKELY = 2.0  # of what was chosen before, by other launches
HARM = math.log(TOLERATED)  # on one target: what costs more there is offered for the others alone
LEAST_NOISE = 0.01  # of a launch, relative
RIDGE = 1.0  # of the regression: as if each value had been seen once more, without effect
NORMAL = 1.4826  # standard deviations of a normal distribution in its median absolute deviation


def noise_of(deviations: Sequence[Floats]) -> Floats:
    """Of one launch, by target: from the differences of equal launches from their median."""
    spread = NORMAL * np.median(np.abs(np.array(deviations)), axis=0)
    return np.asarray(np.maximum(spread, LEAST_NOISE))


def effects_of(rows: Floats, costs: Floats) -> Floats:
    """How much less each value makes the costs of the trials, by ridge regression of all of them.

    `rows`: trials x values, 1 where a trial has the value; `costs`: of each trial, one or several
    columns, of which each value has an effect.
    """
    centred = rows - rows.mean(axis=0)
    square = centred.T @ centred + RIDGE * np.eye(rows.shape[1])
    return np.asarray(-np.linalg.solve(square, centred.T @ (costs - costs.mean(axis=0))))


class Estimate(NamedTuple):
    """What rounds say of a candidate; as logarithms."""

    gains: Floats  # of each target
    errors: Floats
    mean: float  # over the targets
    error: float

    @property
    def better(self) -> bool:
        """Whether the targets are faster in the mean, or one of them is, beyond chance."""
        return self.better_by(SURE)

    def better_by(self, errors: float) -> bool:
        """The same, by so many standard errors."""
        overall = self.mean > max(LEAST_GAIN, errors * self.error)
        return overall or bool((self.gains > np.maximum(HARM, errors * self.errors)).any())

    @property
    def harms(self) -> bool:
        """Whether a target is slower by more than `HARM`, beyond chance."""
        return bool(self.slower.any())

    @property
    def slower(self) -> Booleans:
        """Which targets are."""
        return self.slower_by(SURE)

    def slower_by(self, errors: float) -> Booleans:
        """The same, by so many standard errors."""
        return np.asarray(-self.gains > np.maximum(HARM, errors * self.errors))


def estimate(gains: Floats, noise: Floats) -> Estimate:
    """`gains`: rounds x targets; `noise`: of a launch, by target.

    Medians, as some launches are slow by far. The standard error of a median of n normal values is
    1.25 times that of their mean; a few rounds that agree by chance count as if they scattered as
    the launches do.
    """
    means = gains.mean(axis=1)
    with_mean = np.column_stack([gains, means])
    floor = math.sqrt(2) * np.append(noise, noise.mean() / math.sqrt(len(noise)))
    middle = np.median(with_mean, axis=0)
    spread = NORMAL * np.median(np.abs(with_mean - middle), axis=0)
    errors = 1.25 * np.maximum(spread, floor) / math.sqrt(len(gains))
    return Estimate(middle[:-1], errors[:-1], float(middle[-1]), float(errors[-1]))
