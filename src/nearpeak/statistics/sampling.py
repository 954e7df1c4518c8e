# SPDX-License-Identifier: Apache-2.0
"""Splits a time budget into launches and slots: many short slots, or few long ones.

Two-stage sampling (Cochran, Sampling Techniques, 3rd edition, 1977, section 10.6): launches deviate
from one another, and a launch's median deviates because its samples are few. Only the second part
shrinks with the slot, and each launch also costs a start. Variances are of logarithms, hence
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
    """Variances and costs of one kind of launch (a library, its settings, a place)."""

    between: float  # variance of the log launch median, however long the slot
    within: float  # variance that a slot of 1 ms adds; t ms add within / t
    start_seconds: float  # of a launch with slots of 0 ms
    slot_seconds: float  # added to a launch by each ms of its slot (all its cases)


def components(
    pilots: Iterable[Sequence[ArrayLike]],
    slot_ms: float,
    start_seconds: float,
    slot_seconds: float,
) -> Components:
    """Both variances of one kind of launch, pooled over its cases.

    `pilots` holds for each case the samples (above 0, in their order) of each launch; all slots
    took `slot_ms`. Within: from the medians of consecutive batches of a launch's samples, so that
    dependent samples count for fewer. Between: the variance of the launch medians less that. The
    median over cases is taken, each divided by the median of its chi-squared distribution, so that
    an outlying case counts like any other. A variance that comes out below 0, or that too few
    samples estimate, is 0.
    """
    raw, inner = [], []
    for launches in pilots:
        logs = [np.log(np.asarray(samples, dtype=float)) for samples in launches]
        if len(logs) >= 2:
            medians = [float(np.median(values)) for values in logs]
            raw.append(_central(float(np.var(medians, ddof=1)), len(logs) - 1))
        estimates = [estimate for estimate in map(_of_a_median, logs) if estimate is not None]
        if estimates:
            freedom = sum(f for _, f in estimates)
            inner.append(_central(sum(v * f for v, f in estimates) / freedom, freedom))
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
    """A median-unbiased estimate of a variance."""
    return variance * freedom / float(scipy.special.chdtri(freedom, 0.5))
