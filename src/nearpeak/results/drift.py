# SPDX-License-Identifier: Apache-2.0
"""Did the machine stay the same: what each path carried without MPI, block by block.

The ceilings are the probes: they move the same bytes in every block, on every path, GPU links
among them, and no library is part of them.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from nearpeak.observations.observed import Block
from nearpeak.results.results import CeilingPoint, Drift
from nearpeak.statistics.drift import changes, least_steps
from nearpeak.terms.identity import Case, Place


def find(points: Iterable[CeilingPoint]) -> list[Drift]:
    """Of every path that has ceilings. Nothing is corrected by this.

    A block's deviation is the median over the ceilings of its path, each against its own median
    block, so that a block which lacks some does not look different for it.
    """
    places: dict[Place, dict[Block, list[float]]] = defaultdict(lambda: defaultdict(list))
    widest: dict[Place, tuple[float, Case]] = {}
    for point in points:
        if point.fact or point.value <= 0:
            continue
        apart = point.range[1] / point.range[0] if point.range[0] > 0 else 1.0
        if apart > widest.get(point.place, (0.0,))[0]:
            widest[point.place] = apart, point.case
        sign = 1 if point.better == "higher" else -1
        for block, value in point.by_block.items():
            if value > 0:
                places[point.place][block].append(sign * float(np.log(value / point.value)))
    found = [
        Drift(
            place=place,
            blocks=sorted(blocks),
            deviations=[float(np.expm1(np.median(blocks[block]))) for block in sorted(blocks)],
            widest=widest[place][0],
            widest_case=widest[place][1],
        )
        for place, blocks in places.items()
    ]
    series = [np.log1p(drift.deviations) for drift in found]
    for drift, change, least in zip(found, changes(series), least_steps(series), strict=True):
        if change is not None:
            drift.changed = drift.blocks[change.first : change.last + 1]
            drift.step = float(np.expm1(change.effect))
        elif least is not None:
            drift.tells_from = float(np.expm1(least))
    return found
