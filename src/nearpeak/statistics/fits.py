# SPDX-License-Identifier: Apache-2.0
"""Hockney's model (latency and bandwidth) of a curve, or of its two protocols."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.arrays import Floats

SOFT = 0.1  # relative error from which on an error counts linearly
LEAST_SHARE = 1e-3  # of a parameter in the time of any size: below, the data do not determine it
CONVERGED = 1e-12  # relative step: far above rounding, far below what any figure shows
MOST_STEPS = 1000
DESCRIBES = 0.1  # median relative error: a model that errs by more does not describe its curve
LEAST_SIZES = 3  # of a segment


class Hockney(NamedTuple):
    """t(s) = latency + s / bandwidth."""

    latency_us: float
    asymptotic_gbs: float
    half_peak_bytes: float
    smallest_bytes: int  # of the sizes that it holds for
    largest_bytes: int
    median_error: float  # relative, over these sizes
    worst_error: float

    def log_errors(self, sizes: Floats, times_us: Floats) -> Floats:
        """Logarithms of the model's times over others."""
        model = self.latency_us + sizes / (1e3 * self.asymptotic_gbs)
        return np.asarray(np.log(model / times_us))


def hockney(sizes: ArrayLike, times_us: ArrayLike) -> Hockney | None:
    """Hockney's model fitted to times (us) of messages (bytes), in relative error, robustly.

    Least squares of the logarithms with the soft L1 loss, so that a protocol's step bends the fit
    little and small messages count as much as large ones. Source: Hockney, Parallel Computing 20
    (1994) 389. None with fewer than 3 sizes, or when the largest takes less than twice the smallest
    time: then the data do not determine a bandwidth. None also where the best latency or time per
    byte tends to 0, or the steps do not converge.

    Reweighted Gauss-Newton steps, each of two equations solved by hand, to where the gradient is 0:
    the same on any CPU to some 12 digits. A minimiser that compares sums of squares sees but half
    of the digits, and where it stops depends on how the CPU and its BLAS round.
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
            float(np.sum(weights * left * right))
            for left, right in ((fixed, fixed), (fixed, growing), (growing, growing))
        )
        u, v = (float(np.sum(weights * slope * errors)) for slope in (fixed, growing))
        determinant = a * c - b * b
        if determinant <= 0:  # but for rounding, the sizes are all alike
            return None
        first, second = (b * v - c * u) / determinant, (b * u - a * v) / determinant
        latency *= math.exp(min(max(first, -1), 1))  # at first, steps may be far too long
        us_per_byte *= math.exp(min(max(second, -1), 1))
        if max(abs(first), abs(second)) < CONVERGED:
            off = np.abs((latency + s * us_per_byte) / t - 1)
            return Hockney(
                latency_us=latency,
                asymptotic_gbs=1e-3 / us_per_byte,
                half_peak_bytes=latency / us_per_byte,
                smallest_bytes=int(s.min()),
                largest_bytes=int(s.max()),
                median_error=float(np.median(off)),
                worst_error=float(off.max()),
            )
    return None


def by_protocol(sizes: ArrayLike, times_us: ArrayLike) -> list[Hockney]:
    """Hockney's model of a curve; where one model does not describe it, of its two protocols.

    Libraries send small messages at once (eager) and agree on large ones first (rendezvous). The
    size at which they change is that of the least squares of the logarithms over both parts, each
    of `LEAST_SIZES` or more; that there are two must lower Schwarz's criterion (Annals of
    Statistics 6 (1978) 461), as two parts always fit better than one. Models that do not describe
    their sizes (`DESCRIBES`) are left out: the list may be empty.
    """
    order = np.argsort(np.asarray(sizes, dtype=float), kind="stable")
    s, t = (np.asarray(values, dtype=float)[order] for values in (sizes, times_us))
    single = hockney(s, t)
    if single is not None and single.median_error < DESCRIBES:
        return [single]
    parts = [single]
    breaks = range(LEAST_SIZES, len(s) - LEAST_SIZES + 1)
    if len(breaks) and t.min() > 0:
        halves = {k: (hockney(s[:k], t[:k]), hockney(s[k:], t[k:])) for k in breaks}
        squares = {
            k: _squares(low, s[:k], t[:k]) + _squares(high, s[k:], t[k:])
            for k, (low, high) in halves.items()
        }
        best = min(squares, key=lambda k: squares[k])
        # Two parameters against four and the break.
        if _criterion(squares[best], len(s), 5) < _criterion(_squares(single, s, t), len(s), 2):
            parts = list(halves[best])
    return [part for part in parts if part is not None and part.median_error < DESCRIBES]


def _squares(model: Hockney | None, s: Floats, t: Floats) -> float:
    """The sum of squared log errors; without a model, of those of one time for all sizes."""
    errors = np.log(t) - np.log(t).mean() if model is None else model.log_errors(s, t)
    return float(np.sum(errors**2))


def _criterion(squares: float, sizes: int, parameters: int) -> float:
    """Schwarz's criterion; fits that are exact up to rounding are equally good."""
    return sizes * math.log(max(squares / sizes, CONVERGED)) + parameters * math.log(sizes)
