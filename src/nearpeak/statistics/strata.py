# SPDX-License-Identifier: Apache-2.0
"""Launches that ran under one of a few conditions, brought to one of these."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices

Key = TypeVar("Key", bound=Hashable)

GAP = 1.5  # distances further apart than this, as a ratio, are of two strata
ALONE = 6  # launches of a side in one stratum that are judged without any in others
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


class Levelled(NamedTuple):
    """Launches as in one stratum."""

    logarithms: Floats  # nan: left out
    alone: bool  # those of that stratum are as they were, and all others are left out
    effects: int  # of other strata, that were estimated and taken off,
    blur: float  # and what that adds to the variance of a difference, in variances of a launch


def level(logarithms: Floats, sessions: Indices, of: Indices, new: Booleans, at: int) -> Levelled:
    """Launches of two sides as in the stratum `at`.

    Where each side has `ALONE` launches in it or more, these alone. Else those in other strata less
    the effects of these, which each side has of its own: a change may do more in one stratum than
    in another. Launches are left out that no chain of sessions of their side joins with that
    stratum. Where a side has no launch in it, nothing is changed, and the blur is infinite.

    `logarithms`, `sessions`, `of` (strata), `new` (whether it is on the new side): of each launch;
    none is nan.
    """
    there = of == at
    counts = [int(np.sum(there & (new == side))) for side in (False, True)]
    if not all(counts):
        return Levelled(logarithms, alone=False, effects=0, blur=math.inf)
    if there.all() or min(counts) >= ALONE:
        return Levelled(np.where(there, logarithms, np.nan), alone=True, effects=0, blur=0.0)
    found = np.full(len(logarithms), np.nan)
    estimated, blur = 0, 0.0
    for side in (False, True):
        own = (new == side) & _joined(sessions, of, there & (new == side), new == side)
        off = _effects(logarithms[own], sessions[own], of[own], at)
        found[own] = logarithms[own] - off.of_launches
        estimated += off.others
        blur += off.blur
    return Levelled(found, alone=False, effects=estimated, blur=blur)


class _Effects(NamedTuple):
    of_launches: Floats
    others: int  # strata
    blur: float


def _effects(logarithms: Floats, sessions: Indices, of: Indices, at: int) -> _Effects:
    """How far each launch of a side lies off because of its stratum, against the one `at`.

    Of an additive model, session + stratum, fitted with the loss 2 (sqrt(1 + z^2) - 1) of the
    residuals in units of `SCATTER`: squares of what scatters, absolute values of what lies far off
    (scipy.optimize.least_squares, "soft_l1"). The blur is that of the least-squares fit of the same
    model, for the mean over the sessions, as in an analysis of covariance.
    """
    from scipy.optimize import least_squares  # takes long to import

    others = [stratum for stratum in np.unique(of) if stratum != at]
    if not others:
        return _Effects(np.zeros(len(of)), 0, 0.0)
    numbers = np.unique(sessions)
    columns = [sessions == session for session in numbers] + [of == stratum for stratum in others]
    design = np.column_stack(columns).astype(float)
    start = np.linalg.lstsq(design, logarithms, rcond=None)[0]

    def residuals(found: Floats) -> Floats:
        return np.asarray(design @ found - logarithms)

    def slopes(_: Floats) -> Floats:
        return np.array(design, dtype=float)  # a copy: SciPy before 1.16 scales it in place

    fitted = least_squares(residuals, start, jac=slopes, loss="soft_l1", f_scale=SCATTER).x
    count = len(others)
    inverse = np.linalg.inv(design.T @ design)[-count:, -count:]
    shares = np.mean([design[sessions == one, -count:].mean(axis=0) for one in numbers], axis=0)
    return _Effects(design[:, -count:] @ fitted[-count:], count, float(shares @ inverse @ shares))


def _joined(sessions: Indices, of: Indices, start: Booleans, among: Booleans) -> Booleans:
    """Which launches `among` these hang together with those of `start`, by sessions or strata that
    two of them share."""
    reached = start
    while True:
        wider = among & np.isin(of, of[reached])
        wider |= among & np.isin(sessions, sessions[wider])
        if wider.sum() == reached.sum():
            return np.asarray(reached)
        reached = wider
