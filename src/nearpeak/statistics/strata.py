# SPDX-License-Identifier: Apache-2.0
"""Adjusts launches that ran under one of a few conditions (strata) to one of these."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices

Key = TypeVar("Key", bound=Hashable)

GAP = 1.5  # neighbouring distances with a larger ratio are in two strata
ALONE = 6  # launches of a side in one stratum that suffice without other strata
SCATTER = 0.05  # of launches, as logarithms: launches far beyond are outliers
# With a smaller share of launches outside the commonest stratum, the median of all launches is that
# of the commonest.
MINORITY = 0.25


def strata(distances: Sequence[float]) -> Indices:
    """The stratum of each distance (above 0), from 0 for the nearest.

    Two neighbours in the order of size share a stratum if one is at most `GAP` times the other.
    """
    values = np.asarray(distances, dtype=float)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    numbers = np.zeros(len(values), dtype=np.intp)
    numbers[order[1:]] = np.cumsum(ordered[1:] > GAP * ordered[:-1])
    return numbers


def alike(first: Mapping[Key, float], second: Mapping[Key, float]) -> set[Key]:
    """The keys, such as blocks, whose two distances (above 0) are in one stratum of all."""
    values = [*first.values(), *second.values()]
    stratum_of = dict(zip(values, map(int, strata(values)), strict=True))
    return {
        key
        for key, distance in first.items()
        if key in second and stratum_of[distance] == stratum_of[second[key]]
    }


def mixed(distances: Sequence[float]) -> bool:
    """True if a quarter of the distances (above 0) or more are outside the commonest stratum."""
    if not len(distances):
        return False
    most = int(np.bincount(strata(distances)).max())
    return len(distances) - most >= MINORITY * len(distances)


class Levelled(NamedTuple):
    """Launches adjusted to one stratum."""

    logarithms: Floats  # nan: left out
    alone: bool  # only launches of that stratum are used, unchanged
    effects: int  # effects of other strata that were estimated and subtracted,
    blur: float  # and the variance that this adds to a difference, in variances of a launch


def level(
    logarithms: Floats, sessions: Indices, strata_of: Indices, new: Booleans, reference: int
) -> Levelled:
    """Adjusts launches of two sides to the stratum `reference`.

    If each side has `ALONE` launches or more in it, only these are used. Otherwise the effects of
    other strata are subtracted. Each side has its own effects: a change may do more in one stratum
    than in another. Launches that no chain of sessions of their side connects with that stratum are
    left out. If a side has no launch in it, nothing is changed, and the blur is infinite.

    Of each launch: `logarithms` (none is nan), `sessions`, `strata_of`, `new` (True on the new
    side).
    """
    in_reference = strata_of == reference
    counts = [int(np.sum(in_reference & (new == side))) for side in (False, True)]
    if not all(counts):
        return Levelled(logarithms, alone=False, effects=0, blur=math.inf)
    if in_reference.all() or min(counts) >= ALONE:
        return Levelled(np.where(in_reference, logarithms, np.nan), alone=True, effects=0, blur=0.0)
    levelled = np.full(len(logarithms), np.nan)
    estimated, blur = 0, 0.0
    for side in (False, True):
        usable = (new == side) & _joined(
            sessions, strata_of, in_reference & (new == side), new == side
        )
        off = _effects(logarithms[usable], sessions[usable], strata_of[usable], reference)
        levelled[usable] = logarithms[usable] - off.of_launches
        estimated += off.others
        blur += off.blur
    return Levelled(levelled, alone=False, effects=estimated, blur=blur)


class _Effects(NamedTuple):
    of_launches: Floats
    others: int  # strata
    blur: float


def _effects(logarithms: Floats, sessions: Indices, strata_of: Indices, reference: int) -> _Effects:
    """The effect of its stratum on each launch of a side, relative to `reference`.

    By an additive model, session + stratum, fitted with the loss 2 (sqrt(1 + z^2) - 1) of the
    residuals in units of `SCATTER`: squares of small residuals, absolute values of outliers
    (scipy.optimize.least_squares, "soft_l1"). The blur is that of the least-squares fit of the same
    model, for the mean over the sessions, as in an analysis of covariance.
    """
    from scipy.optimize import least_squares  # slow to import

    others = [stratum for stratum in np.unique(strata_of) if stratum != reference]
    if not others:
        return _Effects(np.zeros(len(strata_of)), 0, 0.0)
    numbers = np.unique(sessions)
    columns = [sessions == session for session in numbers] + [
        strata_of == stratum for stratum in others
    ]
    design = np.column_stack(columns).astype(float)
    start = np.linalg.lstsq(design, logarithms, rcond=None)[0]

    def residuals(parameters: Floats) -> Floats:
        return np.asarray(design @ parameters - logarithms)

    def slopes(_: Floats) -> Floats:
        return np.array(design, dtype=float)  # a copy: SciPy before 1.16 scales it in place

    fitted = least_squares(residuals, start, jac=slopes, loss="soft_l1", f_scale=SCATTER).x
    count = len(others)
    inverse = np.linalg.inv(design.T @ design)[-count:, -count:]
    shares = np.mean(
        [design[sessions == session, -count:].mean(axis=0) for session in numbers], axis=0
    )
    return _Effects(design[:, -count:] @ fitted[-count:], count, float(shares @ inverse @ shares))


def _joined(sessions: Indices, strata_of: Indices, start: Booleans, among: Booleans) -> Booleans:
    """The launches `among` these that are connected with those of `start`.

    Two launches of one session, or of one stratum, are connected.
    """
    reached = start
    while True:
        wider = among & np.isin(strata_of, strata_of[reached])
        wider |= among & np.isin(sessions, sessions[wider])
        if wider.sum() == reached.sum():
            return np.asarray(reached)
        reached = wider
