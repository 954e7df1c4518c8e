# SPDX-License-Identifier: Apache-2.0
"""Launches whose ranks' CPUs were near to each other, and such whose were not, made comparable.

Where a hypervisor moves virtual CPUs, a launch has two threads of one core, or cores of different
chips, and a message takes twice as long, whatever was changed between the sides. Libraries and
ceilings are therefore compared at equal distance, and it is said where a side has other distances.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.compare.compared import Distance
from nearpeak.compare.figures import Both, Figures, Launch, Owner
from nearpeak.statistics.strata import blur, effects, strata
from nearpeak.terms.identity import CEILING, Case, Place

Factors = dict[Launch, float]


class Levelled(NamedTuple):
    """An alternative at one place, at equal distance."""

    cases: list[Both]
    # At which it was measured, the nearest first, and how many of its measurements (each case of
    # each launch) were; empty where there is but one.
    distances: list[Distance]


class _Stratified(NamedTuple):
    """All that was measured of an alternative at one place, case by case and launch by launch."""

    distances: Floats
    new: Indices  # 1: on the new side
    strata: Indices  # 0 everywhere where a distance is unknown

    @property
    def known(self) -> bool:
        """Whether each of them has a distance."""
        return not np.isnan(self.distances).any()


def level(both: Mapping[Owner, Sequence[Both]], new: Sequence[bool]) -> dict[Owner, Levelled]:
    """All figures as at the commonest distance of their case.

    Fractions are of the ceiling at its commonest distance. Nothing is changed where a distance of
    the alternative is unknown, or where there is but one. `new`: of each session, whether it is on
    the new side.
    """
    on_new = np.array(new)
    stratified = {owner: _stratify(cases) for owner, cases in both.items()}
    strata_of = {owner: _by_case(cases, stratified[owner]) for owner, cases in both.items()}
    factors = {
        (owner, case.case): _factors(case, of)
        for owner, cases in both.items()
        for case, of in zip(cases, strata_of[owner], strict=True)
    }

    def levelled(owner: Owner, both: Both, of: Indices) -> Both:
        sessions = _sessions(both)
        old, now = (_levelled(side, factors, owner, both) for side in (both.old, both.new))
        blurred = blur(sessions, of, on_new[sessions])
        return both._replace(old=old, new=now, strata=len(np.unique(of)), blur=blurred)

    return {
        owner: Levelled(
            [levelled(owner, *pair) for pair in zip(cases, strata_of[owner], strict=True)],
            _distances(stratified[owner]),
        )
        for owner, cases in both.items()
    }


def _distances(whole: _Stratified) -> list[Distance]:
    groups = whole.strata if whole.known else np.isnan(whole.distances).astype(np.intp)
    if len(np.unique(groups)) < 2:
        return []
    return [
        Distance(
            range_ns=_range(whole.distances[groups == group]),
            old=int(np.sum((groups == group) & (whole.new == 0))),
            new=int(np.sum((groups == group) & (whole.new == 1))),
        )
        for group in np.unique(groups)
    ]


def _stratify(cases: Sequence[Both]) -> _Stratified:
    blocks = _of_blocks(cases)
    distances = np.array([_distance(case, at, blocks) for case in cases for at in _launches(case)])
    new = np.array([int(at in case.new.values) for case in cases for at in _launches(case)])
    unknown = np.isnan(distances).any()
    of = np.zeros(len(distances), dtype=np.intp) if unknown else strata(distances.tolist())
    return _Stratified(distances, new, of)


def _launches(both: Both) -> list[Launch]:
    return sorted([*both.old.values, *both.new.values])


def _of_blocks(cases: Sequence[Both]) -> dict[Launch, float]:
    """The middle of the distances that were found in each block."""
    found: dict[Launch, list[float]] = defaultdict(list)
    for case in cases:
        for side in (case.old, case.new):
            for at, distance in side.distances.items():
                found[at].append(distance)
    return {at: float(np.median(distances)) for at, distances in found.items()}


def _distance(both: Both, at: Launch, blocks: Mapping[Launch, float]) -> float:
    """That of a case; where it was not found, that of other cases of its block."""
    side = both.new if at in both.new.values else both.old
    return side.distances.get(at, blocks.get(at, math.nan))


def _by_case(cases: Sequence[Both], whole: _Stratified) -> list[Indices]:
    """The strata of the launches of each case."""
    ends = np.cumsum([len(_launches(case)) for case in cases])
    return np.split(whole.strata, ends[:-1])


def _sessions(both: Both) -> Indices:
    return np.array([launch.session for launch in _launches(both)])


def _factors(both: Both, of: Indices) -> Factors:
    """By what each launch is to be multiplied."""
    launches = _launches(both)
    values = {**both.old.values, **both.new.values}
    off = effects(np.log([values[launch] for launch in launches]), _sessions(both), of)
    return dict(zip(launches, np.exp(-off).tolist(), strict=True))


def _levelled(
    side: Figures, factors: Mapping[tuple[Owner, Case], Factors], owner: Owner, both: Both
) -> Figures:
    own = factors[owner, both.case]
    ceiling = _of_ceilings(factors, owner[1], side.ceilings)
    turn = 1 if both.kind.better == "higher" else -1
    return side._replace(
        values={launch: value * own[launch] for launch, value in side.values.items()},
        of_ceiling={
            launch: fraction * (own[launch] / ceiling.get(launch, 1.0)) ** turn
            for launch, fraction in side.of_ceiling.items()
        },
    )


def _of_ceilings(
    factors: Mapping[tuple[Owner, Case], Factors], place: Place, cases: set[Case]
) -> Factors:
    joined: Factors = {}
    for case in cases:
        joined |= factors.get(((CEILING, place), case), {})
    return joined


def _range(distances: Floats) -> tuple[float, float] | None:
    """None: they are unknown."""
    low, high = float(distances.min()), float(distances.max())
    return None if math.isnan(low) else (low, high)
