# SPDX-License-Identifier: Apache-2.0
"""Launches that ran under one of a few conditions, brought to the commonest of these."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices

Key = TypeVar("Key", bound=Hashable)

GAP = 1.5  # distances further apart than this, as a ratio, are of two strata
SCATTER = 0.05  # of launches, as logarithms: what is much more lies far off
# Where fewer launches than this share are in other strata than the commonest, the median of all
# is one of the commonest.
MINORITY = 0.25


def strata(distances: Sequence[float]) -> Indices:
    """The stratum of each distance (above 0), from 0 for the nearest.

    Two neighbours in the order of size are of one stratum if one is at most `GAP` times the other.
    """
    values = np.asarray(distances, dtype=float)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    found = np.zeros(len(values), dtype=np.intp)
    found[order[1:]] = np.cumsum(ordered[1:] > GAP * ordered[:-1])
    return found


def alike(one: Mapping[Key, float], other: Mapping[Key, float]) -> set[Key]:
    """The keys, such as blocks, at which both distances (above 0) are of one stratum of all."""
    values = [*one.values(), *other.values()]
    of = dict(zip(values, map(int, strata(values)), strict=True))
    return {key for key, distance in one.items() if key in other and of[distance] == of[other[key]]}


def mixed(distances: Sequence[float]) -> bool:
    """Whether a quarter of these distances (above 0) or more are in other strata than most."""
    if not len(distances):
        return False
    most = int(np.bincount(strata(distances)).max())
    return len(distances) - most >= MINORITY * len(distances)


def effects(logarithms: Floats, sessions: Indices, of: Indices) -> Floats:
    """How far each launch lies off because of its stratum, against the commonest one.

    Of an additive model, session + stratum, fitted with the loss 2 (sqrt(1 + z^2) - 1) of the
    residuals in units of `SCATTER`: squares of what scatters, absolute values of what lies far off
    (scipy.optimize.least_squares, "soft_l1"). Zeros where sessions and strata cannot be told apart:
    where no chain of sessions that have several strata joins them all.

    `logarithms`, `sessions`, `of` (strata): of each launch; none is nan.
    """
    from scipy.optimize import least_squares  # takes long to import

    if len(np.unique(of)) < 2 or not _joined(sessions, of):
        return np.zeros(len(logarithms))
    design, count = _design(sessions, of)
    start = np.linalg.lstsq(design, logarithms, rcond=None)[0]

    def residuals(found: Floats) -> Floats:
        return np.asarray(design @ found - logarithms)

    def slopes(_: Floats) -> Floats:
        return design

    fitted = least_squares(residuals, start, jac=slopes, loss="soft_l1", f_scale=SCATTER).x
    return np.asarray(design[:, -count:] @ fitted[-count:])


def blur(sessions: Indices, of: Indices, new: Booleans) -> float:
    """What taking the effects off adds to the variance of the difference between two sides, in
    variances of a launch: the more, the less alike their strata are. Infinite where the effects
    cannot be estimated.

    As in an analysis of covariance, of the least-squares fit of session + stratum. `new`: of each
    launch, whether it is on the new side.
    """
    if len(np.unique(of)) < 2:
        return 0.0
    if not _joined(sessions, of):
        return math.inf
    design, count = _design(sessions, of)
    inverse = np.linalg.inv(design.T @ design)[-count:, -count:]
    shares = {
        side: np.mean(
            [
                design[sessions == session, -count:].mean(axis=0)
                for session in set(sessions[new == side])
            ],
            axis=0,
        )
        for side in (False, True)
    }
    apart = shares[True] - shares[False]
    return float(apart @ inverse @ apart)


def _design(sessions: Indices, of: Indices) -> tuple[Floats, int]:
    """A column for each session, then one for each stratum but the commonest; how many of these."""
    commonest = np.argmax(np.bincount(of))
    others = [stratum for stratum in np.unique(of) if stratum != commonest]
    columns = [sessions == session for session in np.unique(sessions)]
    columns += [of == stratum for stratum in others]
    return np.column_stack(columns).astype(float), len(others)


def _joined(sessions: Indices, of: Indices) -> bool:
    """Whether all launches hang together, by a session or a stratum that two of them share."""
    reached = sessions == sessions[0]
    while True:
        wider = np.isin(of, of[reached])
        wider |= np.isin(sessions, sessions[wider])
        if wider.sum() == reached.sum():
            return bool(reached.all())
        reached = wider
