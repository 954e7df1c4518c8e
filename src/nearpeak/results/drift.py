# SPDX-License-Identifier: Apache-2.0
"""Changes of the machine: the rates and times of each path without MPI, block by block.

The ceilings are the probes: they move the same bytes in every block, on every path, GPU links
among them, and no library is part of them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from nearpeak.grouping import collected, grouped
from nearpeak.observations.observed import Block
from nearpeak.results.blocks import extremes
from nearpeak.results.bounds import in_blocks
from nearpeak.results.results import AtDistance, CeilingPoint, Drift
from nearpeak.statistics.comparisons import SIGN
from nearpeak.statistics.drift import changes, least_steps
from nearpeak.statistics.strata import strata
from nearpeak.terms.identity import Place


def find(points: Iterable[CeilingPoint]) -> list[Drift]:
    """The drift of every path that has ceilings. Nothing is corrected by this.

    A block's deviation is the median over the ceilings of its path, each against its own median
    block, so that a block which lacks some does not look different for it.
    """
    probes = [point for point in points if not point.fact and point.value > 0]
    places = grouped(probes, lambda point: point.place)
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


def _medians(values: Iterable[tuple[Block, float]]) -> dict[Block, float]:
    """The median of the values of each block, in order of blocks."""
    by_block = collected(values)
    return {block: float(np.median(by_block[block])) for block in sorted(by_block)}


def _drift(place: Place, points: Sequence[CeilingPoint]) -> Drift:
    deviations = _medians(pair for point in points for pair in _deviations(point).items())
    widest = max(points, key=_apart)
    return Drift(
        place=place,
        blocks=list(deviations),
        deviations=[float(np.expm1(off)) for off in deviations.values()],
        widest=_apart(widest),
        widest_case=widest.case,
        distances=_distances(points),
    )


def _deviations(point: CeilingPoint) -> dict[Block, float]:
    """The deviation of each block from the median of all: a logarithm, above 0 is faster."""
    return {
        block: SIGN[point.better] * float(np.log(value / point.value))
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
        sides = collected((block in changed, off) for block, off in _deviations(point).items())
        if len(sides) == 2:
            inside, outside = float(np.median(sides[True])), float(np.median(sides[False]))
            steps.append(float(np.expm1(inside - outside)))
    return extremes(steps)


def _at_distance(
    blocks: list[Block], ns: Mapping[Block, float], deviations: Iterable[Mapping[Block, float]]
) -> AtDistance:
    inside = filter(None, (in_blocks(off, blocks) for off in deviations))
    relative = [float(np.expm1(np.median([*off.values()]))) for off in inside]
    apart = [ns[block] for block in blocks]
    return AtDistance(
        ns=(min(apart), max(apart)),
        blocks=blocks,
        deviation=float(np.median(relative)),
        range=(min(relative), max(relative)),
    )


def _distances(points: Sequence[CeilingPoint]) -> list[AtDistance]:
    """The distances that the CPUs were at, where there are several: a block's is the middle of
    what its ceilings found."""
    measured = [
        pair for point in points for pair in zip(point.blocks, point.cache_line_ns, strict=False)
    ]
    middles = _medians((block, ns) for block, ns in measured if ns)
    by_stratum = collected(zip(strata([*middles.values()]).tolist(), middles, strict=True))
    if len(by_stratum) < 2:
        return []
    every = [_deviations(point) for point in points]
    return [_at_distance(by_stratum[stratum], middles, every) for stratum in sorted(by_stratum)]
