# SPDX-License-Identifier: Apache-2.0
"""The slowdown of a library's operations with all buffers in GPU memory, relative to all in host
memory."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from nearpeak.grouping import collected, grouped
from nearpeak.results.blocks import estimated
from nearpeak.results.results import Cell, InGpuMemory, SlowerInGpuMemory
from nearpeak.statistics.comparisons import better_in
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Case, Place, Who
from nearpeak.terms.path import DataPath


def find(
    cells: Sequence[Cell], paths: Iterable[DataPath], benchmarks: Iterable[Benchmark]
) -> list[InGpuMemory]:
    """The slowdown of each library between GPUs, at each size, relative to the first path of as
    many ranks within host memory. Ratios of overlap are left out: they say nothing of a memory."""
    ratios = {benchmark.name for benchmark in benchmarks if benchmark.bound is not None}
    beside = [
        path.place
        for path in paths
        if path.place.in_host_memory and not path.pair and not path.shares_cores
    ]
    by_size = grouped(beside, lambda place: (len(place.ends), place.hosts))
    every = {(cell.who, cell.place, cell.case): cell for cell in cells}
    in_gpus = [cell for cell in cells if set(cell.case.buffers) == {"D", ","}]
    compared = [cell for cell in in_gpus if cell.case.benchmark not in ratios]
    slowdowns = collected(
        ((cell.who, cell.place, other.place, cell.case.x), slower)
        for cell in compared
        if (other := _in_host(cell, by_size, every)) and (slower := _slower(cell, other))
    )
    return [
        InGpuMemory(
            who=who,
            place=place,
            host=host.path,
            x=x,
            slower=float(np.median([*map(_value, operations)])),
            operations=sorted(operations, key=_value, reverse=True),
        )
        for (who, place, host, x), operations in slowdowns.items()
    ]


def _in_host(
    cell: Cell,
    places: Mapping[tuple[int, int], Sequence[Place]],
    cells: Mapping[tuple[Who, Place, Case], Cell],
) -> Cell | None:
    """The same in host memory, on the first of the places with as many ranks and hosts that has
    it."""
    case = msgspec.structs.replace(cell.case, buffers=cell.case.buffers.replace("D", "H"))
    hosts = places.get((len(cell.place.ends), cell.place.hosts), ())
    return next(filter(None, (cells.get((cell.who, host, case)) for host in hosts)), None)


def _value(operation: SlowerInGpuMemory) -> float:
    return operation.slower.value


def _slower(cell: Cell, host: Cell) -> SlowerInGpuMemory | None:
    """The slowdown in the blocks that measured both, with as many messages in flight."""
    ratios = better_in(host.by_block, cell.by_block, cell.better)
    if not ratios or cell.window != host.window:
        return None
    return SlowerInGpuMemory(case=cell.case, slower=estimated(ratios), blocks=len(ratios))
