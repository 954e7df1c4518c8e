# SPDX-License-Identifier: Apache-2.0
"""What of a ceiling the launches of a cell are held against, block by block."""

from collections.abc import Sequence

from nearpeak.observations.observed import Block
from nearpeak.results.bounds import distances
from nearpeak.results.results import CeilingPoint, Cell
from nearpeak.statistics.strata import alike, strata

Reading = dict[Block, float]  # by block what was carried, in the unit of the ceiling


def apart(ceiling: CeilingPoint) -> list[tuple[float, float]]:
    """The distances that its CPUs were at, the nearest first: of each the ns of its blocks; empty
    where none is known."""
    known = sorted(ns for ns in ceiling.cache_line_ns if ns)
    found: dict[int, list[float]] = {}
    for ns, stratum in zip(known, map(int, strata(known)), strict=True):
        found.setdefault(stratum, []).append(ns)
    return [(each[0], each[-1]) for each in found.values()]


def against(cell: Cell, ceiling: CeilingPoint) -> list[Reading]:
    """All that the ceiling may be, in the blocks where its CPUs were as far apart as the cell's.

    Where that is not known of a block, it counts: of a bound only if its CPUs were at the best
    distance, as that one holds for any.
    """
    return _counted(cell, ceiling, ceiling.readings)


def attainable(cell: Cell, ceiling: CeilingPoint) -> list[Reading]:
    """The same of what a library can attain."""
    return _counted(cell, ceiling, (ceiling.attainable or ceiling).readings)


def _counted(cell: Cell, ceiling: CeilingPoint, readings: Sequence[Reading]) -> list[Reading]:
    counted = {*ceiling.blocks} - {*ceiling.passed_over}
    if apart := distances(ceiling.blocks, ceiling.cache_line_ns):
        zipped = zip(cell.blocks, cell.cache_line_ns, strict=False)
        own = {block: ns for block, ns in zipped if ns}
        counted = (counted - own.keys()) | alike(own, apart)
    return [
        {block: value for block, value in reading.items() if block in counted}
        for reading in readings
    ]
