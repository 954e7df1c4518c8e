# SPDX-License-Identifier: Apache-2.0
"""Makes launches comparable whose ranks' CPUs were at different distances.

If a hypervisor moves virtual CPUs, a launch has two threads of one core, or cores of different
chips. A message then takes twice as long, whatever was changed between the sides. Libraries and
ceilings are therefore compared at one distance, and other distances of a side are reported.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.compare.compared import Distance
from nearpeak.compare.figures import Both, Figures, Launch, Owner
from nearpeak.grouping import collected
from nearpeak.statistics import strata
from nearpeak.statistics.comparisons import SIGN
from nearpeak.terms.identity import CEILING, Case, Place

Factors = dict[Launch, float]  # of each launch; without those left out


class Levelled(NamedTuple):
    """An alternative at one place, at one distance."""

    cases: list[Both]
    # The distances of its measurements (each case of each launch), nearest first, with counts;
    # empty if there is only one.
    distances: list[Distance]


class _Stratified(NamedTuple):
    """All measurements of an alternative at one place, case by case and launch by launch."""

    distances: Floats
    new: Indices  # 1: on the new side
    strata: Indices  # 0 everywhere where a distance is unknown

    @property
    def is_known(self) -> bool:
        """True if each of them has a distance."""
        return not np.isnan(self.distances).any()


def level(both: Mapping[Owner, Sequence[Both]], new: Sequence[bool]) -> dict[Owner, Levelled]:
    """Brings all figures to one distance, as `statistics.strata.level` does: for each alternative
    to the distance that both sides have most of.

    Fractions use the ceiling at one distance, too. Figures stay unchanged if a distance of the
    alternative is unknown, or if there is only one. `new`: of each session, true if it is on the
    new side.
    """
    on_new = np.array(new)
    by_owner: dict[Owner, Levelled] = {}
    factors: dict[tuple[Owner, Case], Factors] = {}
    for owner, cases in both.items():
        stratified = _stratify(cases)
        strata_of = _by_case(cases, stratified)
        shared = _shared(cases, strata_of)
        brought = []
        for case, case_strata in zip(cases, strata_of, strict=True):
            factors[owner, case.case], levelled_case = _brought(case, case_strata, shared, on_new)
            brought.append(levelled_case)
        by_owner[owner] = Levelled(brought, _distances(stratified, shared))
    for owner, levelled in by_owner.items():
        for index, case in enumerate(levelled.cases):
            levelled.cases[index] = case._replace(
                old=_levelled(case.old, factors, owner, case),
                new=_levelled(case.new, factors, owner, case),
            )
    return by_owner


def _shared(cases: Sequence[Both], strata_of: Sequence[Indices]) -> int:
    """Returns the stratum that both sides have most launches of: by the case and side with the
    fewest in it, then by all launches."""
    count = 1 + max(int(case_strata.max()) for case_strata in strata_of)
    counts = []
    for case, case_strata in zip(cases, strata_of, strict=True):
        new = np.array([launch in case.new.values for launch in _launches(case)])
        counts += [np.bincount(case_strata[new == side], minlength=count) for side in (False, True)]
    table = np.array(counts)
    return max(
        range(count),
        key=lambda stratum: (int(table[:, stratum].min()), int(table[:, stratum].sum())),
    )


def _brought(
    both: Both, case_strata: Indices, stratum: int, on_new: Booleans
) -> tuple[Factors, Both]:
    """Returns the factors of the launches, and the case with the effect of the correction on its
    error."""
    launches, sessions = _launches(both), _sessions(both)
    logarithms = np.log([both.values[launch] for launch in launches])
    levelled = strata.level(logarithms, sessions, case_strata, on_new[sessions], stratum)
    ratios = np.exp(levelled.logarithms - logarithms).tolist()
    factors = {
        launch: ratio
        for launch, ratio in zip(launches, ratios, strict=True)
        if not math.isnan(ratio)
    }
    return factors, both._replace(
        alone=levelled.alone, effects=levelled.effects, blur=levelled.blur
    )


def _distances(stratified: _Stratified, stratum: int) -> list[Distance]:
    groups = (
        stratified.strata if stratified.is_known else np.isnan(stratified.distances).astype(np.intp)
    )
    if len(np.unique(groups)) < 2:
        return []
    return [
        Distance(
            range_ns=_range(stratified.distances[groups == group]),
            old=int(np.sum((groups == group) & (stratified.new == 0))),
            new=int(np.sum((groups == group) & (stratified.new == 1))),
            compared=stratified.is_known and int(group) == stratum,
        )
        for group in np.unique(groups)
    ]


def _stratify(cases: Sequence[Both]) -> _Stratified:
    blocks = _of_blocks(cases)
    distances = np.array(
        [_distance(case, launch, blocks) for case in cases for launch in _launches(case)]
    )
    new = np.array([int(launch in case.new.values) for case in cases for launch in _launches(case)])
    unknown = np.isnan(distances).any()
    groups = (
        np.zeros(len(distances), dtype=np.intp) if unknown else strata.strata(distances.tolist())
    )
    return _Stratified(distances, new, groups)


def _launches(both: Both) -> list[Launch]:
    return sorted(both.values)


def _of_blocks(cases: Sequence[Both]) -> dict[Launch, float]:
    """Returns the median distance of each block."""
    sides = [side.distances for case in cases for side in (case.old, case.new)]
    by_launch = collected(chain.from_iterable(side.items() for side in sides))
    return {launch: float(np.median(distances)) for launch, distances in by_launch.items()}


def _distance(both: Both, launch: Launch, blocks: Mapping[Launch, float]) -> float:
    """Returns the distance of a case; if unknown, that of the other cases of its block."""
    side = both.new if launch in both.new.values else both.old
    return side.distances.get(launch, blocks.get(launch, math.nan))


def _by_case(cases: Sequence[Both], stratified: _Stratified) -> list[Indices]:
    """Returns the strata of the launches of each case."""
    ends = np.cumsum([len(_launches(case)) for case in cases])
    return np.split(stratified.strata, ends[:-1])


def _sessions(both: Both) -> Indices:
    return np.array([launch.session for launch in _launches(both)])


def _levelled(
    side: Figures, factors: Mapping[tuple[Owner, Case], Factors], owner: Owner, both: Both
) -> Figures:
    case_factors = factors[owner, both.case]
    ceiling = _of_ceilings(factors, owner[1], side)
    turn = SIGN[both.kind.better]
    return side._replace(
        values={
            launch: value * case_factors[launch]
            for launch, value in side.values.items()
            if launch in case_factors
        },
        of_ceiling={
            launch: fraction * (case_factors[launch] / ceiling[launch]) ** turn
            for launch, fraction in side.of_ceiling.items()
            if launch in case_factors and launch in ceiling
        },
    )


def _of_ceilings(
    factors: Mapping[tuple[Owner, Case], Factors], place: Place, side: Figures
) -> Factors:
    """Returns the factors of the ceiling's launches; 1 if the sides do not have the ceiling in
    common."""
    owner = CEILING, place
    joined: Factors = {}
    for case in side.ceilings:
        joined |= factors.get((owner, case), dict.fromkeys(side.of_ceiling, 1.0))
    return joined


def _range(distances: Floats) -> tuple[float, float] | None:
    """Returns the lowest and the highest distance; None if unknown."""
    low, high = float(distances.min()), float(distances.max())
    return None if math.isnan(low) else (low, high)
