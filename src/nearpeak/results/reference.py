# SPDX-License-Identifier: Apache-2.0
"""The reference of a cell: the values of a ceiling that its launches are compared with, block by
block."""

from collections.abc import Sequence

from nearpeak.observations.observed import Block
from nearpeak.results.bounds import distances, in_blocks
from nearpeak.results.results import CeilingPoint, Cell
from nearpeak.statistics.strata import alike, strata

Reading = dict[Block, float]  # by block what was carried, in the unit of the ceiling


def distance_ranges(ceiling: CeilingPoint) -> list[tuple[float, float]]:
    """The ranges of the distances between its CPUs, ns, the nearest first; empty where none is
    known."""
    all_ns = sorted(ns for ns in ceiling.cache_line_ns if ns)
    groups: dict[int, list[float]] = {}
    for ns, stratum in zip(all_ns, map(int, strata(all_ns)), strict=True):
        groups.setdefault(stratum, []).append(ns)
    return [(group[0], group[-1]) for group in groups.values()]


def against(cell: Cell, ceiling: CeilingPoint) -> list[Reading]:
    """The readings of the ceiling, in the blocks where its CPUs were as far apart as the cell's.

    Where that is not known of a block, it counts: of a bound only if its CPUs were at the best
    distance, as that one holds for any.
    """
    return _counted(cell, ceiling, ceiling.readings)


def attainable(cell: Cell, ceiling: CeilingPoint) -> list[Reading]:
    """The same for the part of the ceiling that a library can attain."""
    return _counted(cell, ceiling, (ceiling.attainable or ceiling).readings)


def _counted(cell: Cell, ceiling: CeilingPoint, readings: Sequence[Reading]) -> list[Reading]:
    counted = {*ceiling.blocks} - {*ceiling.passed_over}
    if ceiling_ns := distances(ceiling.blocks, ceiling.cache_line_ns):
        zipped = zip(cell.blocks, cell.cache_line_ns, strict=False)
        cell_ns = {block: ns for block, ns in zipped if ns}
        counted = (counted - cell_ns.keys()) | alike(cell_ns, ceiling_ns)
    return [in_blocks(reading, counted) for reading in readings]
