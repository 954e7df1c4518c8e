# SPDX-License-Identifier: Apache-2.0
"""Changes of the machine: the rates and times of each path without MPI, block by block.

The ceilings are the probes: they move the same bytes in every block, on every path, GPU links
among them, and no library is part of them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from nearpeak.observations.observed import Block
from nearpeak.results.results import AtDistance, CeilingPoint, Drift
from nearpeak.statistics.drift import changes, least_steps
from nearpeak.statistics.strata import strata
from nearpeak.terms.identity import Place


def find(points: Iterable[CeilingPoint]) -> list[Drift]:
    """The drift of every path that has ceilings. Nothing is corrected by this.

    A block's deviation is the median over the ceilings of its path, each against its own median
    block, so that a block which lacks some does not look different for it.
    """
    places: dict[Place, list[CeilingPoint]] = defaultdict(list)
    for point in points:
        if not point.fact and point.value > 0:
            places[point.place].append(point)
    drifts = [_drift(place, group) for place, group in places.items()]
    series = [np.log1p(drift.deviations) for drift in drifts]
    for drift, change, least in zip(drifts, changes(series), least_steps(series), strict=True):
        if change is not None:
            drift.changed = drift.blocks[change.first : change.last + 1]
            drift.step = float(np.expm1(change.effect))
            drift.step_range = _step_range(places[drift.place], drift.changed)
        elif least is not None:
            drift.tells_from = float(np.expm1(least))
    return drifts


def _drift(place: Place, points: Sequence[CeilingPoint]) -> Drift:
    deviations: dict[Block, list[float]] = defaultdict(list)
    for point in points:
        for block, off in _deviations(point).items():
            deviations[block].append(off)
    widest = max(points, key=_apart)
    return Drift(
        place=place,
        blocks=sorted(deviations),
        deviations=[float(np.expm1(np.median(deviations[block]))) for block in sorted(deviations)],
        widest=_apart(widest),
        widest_case=widest.case,
        distances=_distances(points),
    )


def _deviations(point: CeilingPoint) -> dict[Block, float]:
    """The deviation of each block from the median of all: a logarithm, above 0 is faster."""
    sign = 1 if point.better == "higher" else -1
    return {
        block: sign * float(np.log(value / point.value))
        for block, value in point.by_block.items()
        if value > 0
    }


def _apart(point: CeilingPoint) -> float:
    """The best of its blocks over the worst."""
    return point.range[1] / point.range[0] if point.range[0] > 0 else 1.0


def _step_range(
    points: Iterable[CeilingPoint], changed: Collection[Block]
) -> tuple[float, float] | None:
    """The differences of single ceilings between these blocks and the rest: the lowest, the
    highest."""
    steps = []
    for point in points:
        off = _deviations(point)
        inside = [value for block, value in off.items() if block in changed]
        outside = [value for block, value in off.items() if block not in changed]
        if inside and outside:
            steps.append(float(np.expm1(float(np.median(inside)) - float(np.median(outside)))))
    return (min(steps), max(steps)) if steps else None


def _distances(points: Sequence[CeilingPoint]) -> list[AtDistance]:
    """The distances that the CPUs were at, where there are several: a block's is the middle of
    what its ceilings found."""
    by_block: dict[Block, list[float]] = defaultdict(list)
    for point in points:
        for block, ns in zip(point.blocks, point.cache_line_ns, strict=False):
            if ns:
                by_block[block].append(ns)
    middles = {block: float(np.median(by_block[block])) for block in sorted(by_block)}
    numbers: list[int] = strata([*middles.values()]).tolist()
    if len(set(numbers)) < 2:
        return []
    every = [_deviations(point) for point in points]
    distances = []
    for stratum in sorted(set(numbers)):
        blocks = [
            block for block, number in zip(middles, numbers, strict=True) if number == stratum
        ]
        apart = [middles[block] for block in blocks]
        off = []
        for deviations in every:
            if inside := [deviations[block] for block in blocks if block in deviations]:
                off.append(float(np.expm1(np.median(inside))))
        distances.append(
            AtDistance(
                ns=(min(apart), max(apart)),
                blocks=blocks,
                deviation=float(np.median(off)),
                range=(min(off), max(off)),
            )
        )
    return distances
