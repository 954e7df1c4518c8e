# SPDX-License-Identifier: Apache-2.0
"""Hockney's model of a curve: a latency and a bandwidth."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

SOFT = 0.1  # relative error from which on an error counts linearly
LEAST_SHARE = 1e-3  # of a parameter in the time of any size: below, nothing tells it
CONVERGED = 1e-12  # relative step: far above rounding, far below what any figure shows
MOST_STEPS = 1000


class Hockney(NamedTuple):
    """t(s) = latency + s / bandwidth."""

    latency_us: float
    asymptotic_gbs: float
    half_peak_bytes: float
    worst_error: float


def hockney(sizes: ArrayLike, times_us: ArrayLike) -> Hockney | None:
    """Hockney's model fitted to times (us) of messages (bytes), in relative error, robustly.

    Least squares of the logarithms with the soft L1 loss, so that a protocol's step bends the fit
    little and small messages count as much as large ones. Source: Hockney, Parallel Computing 20
    (1994) 389. None with fewer than 3 sizes, or when the largest takes less than twice the
    smallest time: then nothing in the data tells a bandwidth. None, too, where the best latency
    or time per byte tends to nothing, or no best is found.

    Reweighted Gauss-Newton steps, each of two equations solved by hand, to where the gradient is
    nothing: the same on any CPU to some 12 digits. A minimiser that compares sums of squares sees
    but half of the digits, and where it stops depends on how the CPU and its BLAS round.
    """
    s = np.asarray(sizes, dtype=float)
    t = np.asarray(times_us, dtype=float)
    if len(np.unique(s)) < 3 or t.min() <= 0 or t[s.argmax()] < 2 * t.min():
        return None

    latency, us_per_byte = float(t.min()), float(t[s.argmax()] / s.max())
    for _ in range(MOST_STEPS):
        times = latency + s * us_per_byte
        fixed, growing = latency / times, s * us_per_byte / times  # derivatives of log(times)
        if min(fixed.max(), growing.max()) < LEAST_SHARE:
            return None
        errors = np.log(times / t)
        weights = 1 / np.sqrt(1 + (errors / SOFT) ** 2)
        a, b, c = (
            float(np.sum(weights * one * other))
            for one, other in ((fixed, fixed), (fixed, growing), (growing, growing))
        )
        u, v = (float(np.sum(weights * one * errors)) for one in (fixed, growing))
        determinant = a * c - b * b
        if determinant <= 0:  # but for rounding, the sizes are all alike
            return None
        first, second = (b * v - c * u) / determinant, (b * u - a * v) / determinant
        latency *= math.exp(min(max(first, -1), 1))  # at first, steps may be far too long
        us_per_byte *= math.exp(min(max(second, -1), 1))
        if max(abs(first), abs(second)) < CONVERGED:
            worst = float(np.abs((latency + s * us_per_byte) / t - 1).max())
            return Hockney(latency, 1e-3 / us_per_byte, latency / us_per_byte, worst)
    return None
