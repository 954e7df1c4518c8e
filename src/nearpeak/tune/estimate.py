# SPDX-License-Identifier: Apache-2.0
"""Statistics of a search: noise of launches, effects of values by all trials, and gains of a
candidate by rounds."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats
from nearpeak.statistics.levels import TOLERATED

LEAST_GAIN = math.log(1.02)  # the least speedup of settings that are taken
SURE = 3.0  # standard errors, for taking settings in the search; the study confirms them
LIKELY = 2.0  # standard errors, if earlier launches have already chosen the settings
HARM = math.log(TOLERATED)  # more on one target: offered for the other targets only
LEAST_NOISE = 0.01  # of a launch, relative
RIDGE = 1.0  # of the regression: as if each value had been seen once more, without effect
NORMAL = 1.4826  # standard deviations of a normal distribution in its median absolute deviation


class Noise(NamedTuple):
    """The noise of one launch, as logarithms."""

    targets: Floats  # of each target
    mean: float  # of the mean over the targets: as large, if a slow launch slows all of them


def noise_of(groups: Sequence[Floats]) -> Noise:
    """Returns the noise of one launch from groups of equal launches, each launches x targets: their
    deviations from the median of the group.

    The noise of the mean comes from the means of whole launches, as targets of a launch are slow
    together.
    """
    with_means = [_with_mean(costs) for costs in groups]
    deviations = np.vstack([costs - np.median(costs, axis=0) for costs in with_means])
    spread = np.maximum(NORMAL * np.median(np.abs(deviations), axis=0), LEAST_NOISE)
    return Noise(spread[:-1], float(spread[-1]))


def _with_mean(by_target: Floats) -> Floats:
    """Returns rows of targets with their mean as a further column."""
    return np.column_stack([by_target, by_target.mean(axis=1)])


def effects_of(rows: Floats, costs: Floats) -> Floats:
    """Returns by how much each value lowers the costs of the trials, by ridge regression over all
    of them.

    `rows`: trials x values, 1 where a trial has the value. `costs`: of each trial, one or several
    columns; each value has an effect on each column.
    """
    centred = rows - rows.mean(axis=0)
    square = centred.T @ centred + RIDGE * np.eye(rows.shape[1])
    return np.asarray(-np.linalg.solve(square, centred.T @ (costs - costs.mean(axis=0))))


class Estimate(NamedTuple):
    """Gains of a candidate by its rounds, as logarithms."""

    gains: Floats  # of each target
    errors: Floats
    mean: float  # over the targets
    error: float

    @property
    def better(self) -> bool:
        """True if the mean of the targets, or one of them, is significantly faster."""
        return self.better_by(SURE)

    def better_by(self, errors: float) -> bool:
        """True if `better` holds with this many standard errors. One of several targets needs more
        of them, as each is a chance to be wrong."""
        overall = self.mean > max(LEAST_GAIN, errors * self.error)
        of_one = one_of_several(errors, len(self.gains))
        return overall or bool((self.gains > np.maximum(HARM, of_one * self.errors)).any())

    def worse_by(self, errors: float) -> bool:
        """True if the mean of the targets, or one of them, is slower by this many standard
        errors."""
        overall = -self.mean > max(LEAST_GAIN, errors * self.error)
        return overall or bool(self.slower_by(errors).any())

    @property
    def is_open(self) -> bool:
        """True if more rounds may decide: it seems better and is not shown to be, or a target seems
        slower."""
        if self.better:
            return not self.harms and bool((self.gains < -HARM).any())
        return not self.harms and self.mean + LIKELY * self.error > LEAST_GAIN

    @property
    def is_proof(self) -> bool:
        """True if the candidate is better, no round is to come that may show otherwise, and no
        target seems slower."""
        return self.better and not self.is_open and not self.slower_by(LIKELY).any()

    @property
    def harms(self) -> bool:
        """True if a target is significantly slower, by more than `HARM`."""
        return bool(self.slower.any())

    @property
    def slower(self) -> Booleans:
        """The targets that are significantly slower, by more than `HARM`."""
        return self.slower_by(SURE)

    def slower_by(self, errors: float) -> Booleans:
        """Returns the targets that are slower by this many standard errors."""
        return np.asarray(-self.gains > np.maximum(HARM, errors * self.errors))


def one_of_several(errors: float, number: int) -> float:
    """Returns the standard errors that the greatest of this number of normal values exceeds by
    chance as rarely as a single value exceeds `errors` (Bonferroni)."""
    normal = NormalDist()
    return -normal.inv_cdf(normal.cdf(-errors) / number)


def speedups(gains: Floats) -> str:
    """`1.02 1.40`: the speedup of each target."""
    return " ".join(f"{math.exp(gain):.2f}" for gain in gains)


def estimate(gains: Floats, noise: Noise) -> Estimate:
    """Estimates the gains of a candidate. `gains`: rounds x targets.

    Uses medians, as a few launches are slow by far. The standard error of a median of n normal
    values is 1.25 times that of their mean. If a few rounds agree by chance, the noise of launches
    replaces their scatter.
    """
    with_mean = _with_mean(gains)
    floor = math.sqrt(2) * np.append(noise.targets, noise.mean)
    middle = np.median(with_mean, axis=0)
    spread = NORMAL * np.median(np.abs(with_mean - middle), axis=0)
    errors = 1.25 * np.maximum(spread, floor) / math.sqrt(len(gains))
    return Estimate(middle[:-1], errors[:-1], float(middle[-1]), float(errors[-1]))
