# SPDX-License-Identifier: Apache-2.0
"""The bandwidths that nccl-tests reports for a collective operation (doc/PERFORMANCE.md there)."""

from nearpeak.observations.imported import SOME_RANKS
from nearpeak.results.results import Cell
from nearpeak.terms.benchmarks import Benchmark


def add(cell: Cell, benchmark: Benchmark) -> None:
    """Sets the bandwidths of a cell, unless it is no time of an operation that moves data, or of an
    unknown number of ranks."""
    moved = benchmark.traffic
    timed = cell.median and cell.unit == "us" and cell.place.path != SOME_RANKS
    if moved is None or not moved.moves_data or not timed or not cell.median:
        return
    ranks, nanoseconds = len(cell.place.ends), 1e3 * cell.median
    cell.algbw_gbs = moved.algorithm_bytes(cell.case.x, ranks) / nanoseconds
    cell.busbw_gbs = moved.bytes(cell.case.x, ranks) / nanoseconds
