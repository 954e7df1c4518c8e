# SPDX-License-Identifier: Apache-2.0
"""How to spend a budget of time: many launches with short slots, or few with long ones.

Two-stage sampling (Cochran, Sampling Techniques, 3rd edition, 1977, section 10.6): launches deviate
from one another, and a launch's median deviates for the few samples it rests on; only the second
shrinks with the slot, and a launch costs a start besides. Variances are of logarithms, that is
relative.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from nearpeak.arrays import Floats

LEAST_BATCH = 3  # samples; and batches


class Components(NamedTuple):
    """Of one kind of launch (a library, its settings, a place): variances and costs."""

    between: float  # variance of the log launch median, however long the slot
    within: float  # variance that a slot of 1 ms adds; t ms add within / t
    start_seconds: float  # of a launch whose slots are nothing
    slot_seconds: float  # that a launch takes longer for each ms of its slot (all its cases)


def components(
    pilots: Iterable[Sequence[ArrayLike]],
    slot_ms: float,
    start_seconds: float,
    slot_seconds: float,
) -> Components:
    """Both variances of one kind of launch, pooled over its cases.

    `pilots` holds for each case the samples (above 0, in their order) of each launch; all slots
    were of `slot_ms`. Within: from the medians of consecutive batches of a launch's samples, so
    that samples that depend on one another count for fewer. Between: the variance of the launch
    medians less that. Over cases the median is taken, each divided by that of its chi-squared
    distribution, so that an odd case counts as any other. What comes out below 0, or cannot be
    told from so few, is 0.
    """
    raw, inner = [], []
    for launches in pilots:
        logs = [np.log(np.asarray(samples, dtype=float)) for samples in launches]
        if len(logs) >= 2:
            medians = [float(np.median(values)) for values in logs]
            raw.append(_central(float(np.var(medians, ddof=1)), len(logs) - 1))
        known = [found for found in map(_of_a_median, logs) if found is not None]
        if known:
            freedom = sum(f for _, f in known)
            inner.append(_central(sum(v * f for v, f in known) / freedom, freedom))
    within = float(np.median(inner)) if inner else 0.0
    between = max(0.0, float(np.median(raw)) - within) if raw else 0.0
    return Components(between, within * slot_ms, start_seconds, slot_seconds)


def best_slot(parts: Components, least_ms: float, most_ms: float) -> float:
    """The slot (ms) with which a given time buys the narrowest interval, within the limits.

    The variance of the mean of as many launches as fit, (between + within / t) (start + slot t),
    is least at t^2 = (start / slot) (within / between).
    """
    spent, gained = parts.slot_seconds * parts.between, parts.start_seconds * parts.within
    if gained <= 0:
        return least_ms
    if spent <= 0:
        return most_ms
    return min(max(math.sqrt(gained / spent), least_ms), most_ms)


def _of_a_median(values: Floats) -> tuple[float, int] | None:
    """Variance of the median of consecutive samples, and its degrees of freedom, by batch means.

    As many batches as samples in each: Flegal and Jones, Annals of Statistics 38 (2010) 1034.
    None where there are too few samples for that.
    """
    batches = math.isqrt(len(values))
    if batches < LEAST_BATCH:
        return None
    length = len(values) // batches
    medians = np.median(values[: batches * length].reshape(batches, length), axis=1)
    return float(medians.var(ddof=1)) / batches, batches - 1


def _central(variance: float, freedom: int) -> float:
    """An estimate of a variance, made so that its median, not its mean, is the variance."""
    return variance * freedom / float(scipy.special.chdtri(freedom, 0.5))
