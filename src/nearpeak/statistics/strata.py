# SPDX-License-Identifier: Apache-2.0
"""Launches that ran under one of a few conditions, brought to the commonest of these."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

GAP = 1.15  # distances further apart than this, as a ratio, are of two strata
SCATTER = 0.05  # of launches, as logarithms: what is much more lies far off


def strata(distances: Sequence[float]) -> Indices:
    """The stratum of each distance (above 0; nan: unknown, a stratum of its own), from 0.

    Two neighbours in the order of size are of one stratum if one is at most `GAP` times the other.
    """
    values = np.asarray(distances, dtype=float)
    order = np.argsort(values, kind="stable")  # nan comes last
    ordered = values[order]
    # Where the next is nan and this is not, the comparison is false, and a new stratum begins.
    same = (ordered[1:] <= GAP * ordered[:-1]) | np.isnan(ordered[:-1])
    found = np.zeros(len(values), dtype=np.intp)
    found[order[1:]] = np.cumsum(~same)
    return found


def effects(logarithms: Floats, sessions: Indices, of: Indices) -> Floats:
    """How far each launch lies off because of its stratum, against the commonest one.

    Of an additive model, session + stratum, fitted with the loss 2 (sqrt(1 + z^2) - 1) of the
    residuals in units of `SCATTER`: squares of what scatters, absolute values of what lies far off
    (scipy.optimize.least_squares, "soft_l1"). Zeros where sessions and strata cannot be told apart:
    where no chain of sessions that have several strata joins them all.

    `logarithms`, `sessions`, `of` (strata): of each launch; none is nan.
    """
    if len(np.unique(of)) < 2 or not _joined(sessions, of):
        return np.zeros(len(logarithms))
    commonest = np.argmax(np.bincount(of))
    others = [stratum for stratum in np.unique(of) if stratum != commonest]
    design = np.column_stack(
        [sessions == session for session in np.unique(sessions)]
        + [of == stratum for stratum in others]
    ).astype(float)
    start = np.linalg.lstsq(design, logarithms, rcond=None)[0]

    def residuals(found: Floats) -> Floats:
        return np.asarray(design @ found - logarithms)

    fitted = least_squares(residuals, start, loss="soft_l1", f_scale=SCATTER).x
    return np.asarray(design[:, -len(others) :] @ fitted[-len(others) :])


def _joined(sessions: Indices, of: Indices) -> bool:
    """Whether all launches hang together, by a session or a stratum that two of them share."""
    reached = sessions == sessions[0]
    while True:
        wider = np.isin(of, of[reached])
        wider |= np.isin(sessions, sessions[wider])
        if wider.sum() == reached.sum():
            return bool(reached.all())
        reached = wider
