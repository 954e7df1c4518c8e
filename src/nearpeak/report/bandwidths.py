# SPDX-License-Identifier: Apache-2.0
"""The bandwidths that nccl-tests tells of a collective operation (doc/PERFORMANCE.md there)."""

from collections.abc import Callable
from typing import NamedTuple

from nearpeak.results.results import Cell, Results


class Bandwidths(NamedTuple):
    """Of one operation, in GB/s."""

    algorithm: float  # its data over its time
    bus: float  # what at least one rank must receive or send, over its time


def bandwidths(results: Results) -> Callable[[Cell], Bandwidths | None]:
    """Tells those of a cell; None of what is no time of an operation that moves data."""
    traffic = {one.name: one.traffic for one in results.benchmarks if one.traffic is not None}

    def of(cell: Cell) -> Bandwidths | None:
        moved = traffic.get(cell.case.benchmark)
        if moved is None or not moved.moves_data or not cell.median or cell.unit != "us":
            return None
        ranks = len(cell.place.ends)
        nanoseconds = 1e3 * cell.median
        return Bandwidths(
            algorithm=moved.whole(cell.case.x, ranks) / nanoseconds,
            bus=moved.bytes(cell.case.x, ranks) / nanoseconds,
        )

    return of
