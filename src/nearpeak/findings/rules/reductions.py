# SPDX-License-Identifier: Apache-2.0
"""Reductions in device memory far slower than moving as many bytes, by the same library."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import PossibleLoss, Rule, View, against, times
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import of_openmpi
from nearpeak.numbers import size
from nearpeak.results.results import Cell
from nearpeak.terms.axes import state_of
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.identity import Place, Who

# Times slower for the bytes that it must receive. A GPU adds numbers at the speed of its memory,
# far above that of a link; but no reduction was measured that costs only the data that it moves.
LIMIT = 3.0
LARGE_BYTES = 1 << 20  # smaller messages take most of the time for the steps of an operation
TYPE = "type"  # the axis of reductions: the type of numbers


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every large reduction with each operation that only moves data."""
    moves: dict[tuple[Who, Place, str, int], list[Cell]] = defaultdict(list)
    reductions: list[Cell] = []
    for cell in view.unstaged:
        benchmark = view.benchmarks[cell.case.benchmark]
        if (
            cell.case.x < LARGE_BYTES
            or not in_gpu(cell.case.buffers)
            or not _bytes(benchmark, cell)
        ):
            continue
        if any(axis.name == TYPE for axis in benchmark.axes):
            reductions.append(cell)
        else:
            moves[cell.who, cell.place, cell.case.buffers, cell.case.x].append(cell)
    for cell in reductions:
        received = _bytes(view.benchmarks[cell.case.benchmark], cell)
        for other in moves[cell.who, cell.place, cell.case.buffers, cell.case.x]:
            if state_of(other.case.axes) != state_of(cell.case.axes):
                continue
            scaled = received / _bytes(view.benchmarks[other.case.benchmark], other)
            if loss := against(cell, times(other, scaled), LIMIT):
                yield PossibleLoss(cell, other, loss, scaled)


def _bytes(benchmark: Benchmark, cell: Cell) -> float:
    """The bytes that at least one rank receives; 0 unless the time of a collective operation."""
    if benchmark.traffic is None or cell.unit != "us":
        return 0.0
    return benchmark.traffic.bytes(cell.case.x, len(cell.place.ends))


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured}; {it.other.case.figure} moves the same"
        f" number of bytes in {it.better}, but adds nothing."
    )


RULE = Rule(
    name="reductions",
    tells=f"A sum in GPU memory, of {size(LARGE_BYTES)} or more, takes more than {LIMIT:g} times as"
    " long as another collective operation of the same library would take for the bytes that the"
    " sum must receive. That is no loss: what moves bytes adds nothing, and no faster sum was"
    " measured.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}; {it.other.case.figure}, which adds nothing, {it.better}",
    sentence=sentence,
    action="Measure NCCL or RCCL, too, and use the faster one.",
    remedy="The library may add on the CPU, or with small kernels: measure NCCL or RCCL beside it,"
    " and use them for these sums if they are faster.",
    sources=[
        of_openmpi(12318, "Offload reduction operations to accelerators")._replace(memory="device"),
    ],
    does_less=True,
)
