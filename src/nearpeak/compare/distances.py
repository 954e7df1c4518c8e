# SPDX-License-Identifier: Apache-2.0
"""Launches whose ranks' CPUs were near to each other, and such whose were not, made comparable.

Where a hypervisor moves virtual CPUs, a launch has two threads of one core, or cores of different
chips, and a message takes twice as long, whatever was changed between the sides.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from nearpeak.compare.figures import Both, Figures, Launch, Owner
from nearpeak.compare.model import Distance
from nearpeak.identity import CEILING, Case, Place
from nearpeak.observations.model import Floats
from nearpeak.statistics.strata import effects, strata

Factors = dict[Launch, float]
Matched = Mapping[Owner, Sequence[Both]]


def level(both: Matched) -> dict[Owner, list[Both]]:
    """All figures as at the commonest distance of their case; the same where there is but one."""
    factors = {(owner, one.case): _factors(one) for owner, cases in both.items() for one in cases}

    def of_ceilings(place: Place, cases: set[Case]) -> Factors:
        found: Factors = {}
        for case in cases:
            found |= factors.get(((CEILING, place), case), {})
        return found

    def levelled(owner: Owner, one: Both) -> Both:
        own = factors[owner, one.case]
        old, new = (
            _levelled(side, own, of_ceilings(owner[1], side.ceilings), one.kind.better)
            for side in (one.old, one.new)
        )
        return one._replace(old=old, new=new)

    return {owner: [levelled(owner, one) for one in cases] for owner, cases in both.items()}


def _factors(one: Both) -> Factors:
    """By what each launch is to be multiplied."""
    values = {**one.old.values, **one.new.values}
    distances = {**one.old.distances, **one.new.distances}
    launches = sorted(values)
    of = strata([distances[launch] for launch in launches])
    sessions = np.array([launch.session for launch in launches])
    off = effects(np.log([values[launch] for launch in launches]), sessions, of)
    return dict(zip(launches, np.exp(-off).tolist(), strict=True))


def _levelled(side: Figures, own: Factors, ceiling: Factors, better: str) -> Figures:
    turn = 1 if better == "higher" else -1
    return side._replace(
        values={launch: value * own[launch] for launch, value in side.values.items()},
        of_ceiling={
            launch: fraction * (own[launch] / ceiling.get(launch, 1.0)) ** turn
            for launch, fraction in side.of_ceiling.items()
        },
    )


def found(cases: Sequence[Both]) -> list[Distance]:
    """The distances at which an alternative ran at one place, the nearest first, and how many
    launches of each side did; of a launch the middle of its cases. Empty where there is but one."""
    old = _middles([one.old for one in cases])
    middles = np.array(old + _middles([one.new for one in cases]))
    new = np.arange(len(middles)) >= len(old)
    of = strata(middles.tolist())
    if not of.any():
        return []
    return [
        Distance(
            range_ns=_range(middles[of == stratum]),
            old=int(np.sum((of == stratum) & ~new)),
            new=int(np.sum((of == stratum) & new)),
        )
        for stratum in np.unique(of)
    ]


def _range(distances: Floats) -> tuple[float, float] | None:
    """None: they are unknown."""
    low, high = float(distances.min()), float(distances.max())
    return None if np.isnan(low) else (low, high)


def _middles(side: Sequence[Figures]) -> list[float]:
    launches: dict[Launch, list[float]] = {}
    for figures in side:
        for launch in figures.values:
            launches.setdefault(launch, []).append(figures.distances[launch])
    return [float(np.median(distances)) for distances in launches.values()]
