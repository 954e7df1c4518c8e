# SPDX-License-Identifier: Apache-2.0
"""The slowdown of a library's operations with all buffers in GPU memory, relative to all in host
memory."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from nearpeak.results.overlap import estimated
from nearpeak.results.results import Cell, InGpuMemory, SlowerInGpuMemory
from nearpeak.statistics.comparisons import better_in
from nearpeak.terms.benchmarks import Benchmark, by_name
from nearpeak.terms.identity import Place, Who
from nearpeak.terms.path import DataPath


def find(
    cells: Sequence[Cell], paths: Iterable[DataPath], benchmarks: Iterable[Benchmark]
) -> list[InGpuMemory]:
    """The slowdown of each library between GPUs, at each size, relative to the first path of as
    many ranks within host memory. Ratios of overlap are left out: they say nothing of a memory."""
    described = by_name(benchmarks)
    beside = [
        path.place
        for path in paths
        if path.place.in_host_memory and not path.pair and not path.shares_cores
    ]
    every = {(cell.who, cell.place, cell.case): cell for cell in cells}
    slowdowns: dict[tuple[Who, Place, Place, int], list[SlowerInGpuMemory]] = defaultdict(list)
    for cell in cells:
        place, case = cell.place, cell.case
        if described[case.benchmark].bound is not None or set(case.buffers) != {"D", ","}:
            continue
        in_host = msgspec.structs.replace(case, buffers=case.buffers.replace("D", "H"))
        for host in beside:
            other = every.get((cell.who, host, in_host))
            if other and len(host.ends) == len(place.ends) and host.hosts == place.hosts:
                if slower := _slower(cell, other):
                    slowdowns[cell.who, place, host, case.x].append(slower)
                break
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


def _value(operation: SlowerInGpuMemory) -> float:
    return operation.slower.value


def _slower(cell: Cell, host: Cell) -> SlowerInGpuMemory | None:
    """The slowdown in the blocks that measured both, with as many messages in flight."""
    ratios = better_in(host.by_block, cell.by_block, cell.better)
    if not ratios or cell.window != host.window:
        return None
    sessions = [block.session for block in ratios]
    return SlowerInGpuMemory(
        case=cell.case, slower=estimated(list(ratios.values()), sessions), blocks=len(ratios)
    )
