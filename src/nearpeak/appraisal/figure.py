# SPDX-License-Identifier: Apache-2.0
"""The figures of an imported table that an appraisal is of: one for each curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nearpeak.grouping import grouped
from nearpeak.observations.clues import Clues
from nearpeak.observations.imported import SOME_RANKS
from nearpeak.observations.observed import Observations
from nearpeak.observations.sources.collectives import TRAFFIC
from nearpeak.results.best import quoted_size
from nearpeak.results.order import guests
from nearpeak.results.results import Cell, Results
from nearpeak.terms.buffers import MEMORY
from nearpeak.terms.identity import Case, Curve, Place, Who

LARGE_BYTES = 1 << 20  # from here on a rate is one of the path, and not of its start
PATH_BYTES = 4 << 20  # one message of this size, and no other, nearly has the rate of the path
US = "us"


class Point(NamedTuple):
    """A size with its rate."""

    size_bytes: int
    gbs: float


@dataclass(frozen=True)
class Figure:
    """One curve of a file, whose largest rate or smallest time is appraised."""

    cells: tuple[Cell, ...]  # of one curve, by size; of a matrix, one for each pair of ends
    clues: Clues
    wrong: bool = False  # a validation failed
    unfinished: bool = False  # the run was cut off

    @cached_property
    def cell(self) -> Cell:
        """The cell that is appraised: a rate at the largest size, a time near 8 B."""
        if self.of_time:
            return self.small
        return self.cells[-1] if not self.matrix else min(self.cells, key=_median)

    @property
    def small(self) -> Cell:
        """The cell near 8 B."""
        size = quoted_size([cell.case.x for cell in self.cells if cell.case.x] or [0])
        return next((cell for cell in self.cells if cell.case.x == size), self.cells[0])

    @property
    def who(self) -> Who:
        """The name of the file."""
        return self.cell.who

    @property
    def key(self) -> tuple[Who, str, Curve]:
        """Its file, the group of its paths, and its curve."""
        return self.who, self.place.group, self.case.curve

    @property
    def place(self) -> Place:
        """The path of the appraised cell."""
        return self.cell.place

    @property
    def case(self) -> Case:
        """The appraised case."""
        return self.cell.case

    @property
    def benchmark(self) -> str:
        """The operation."""
        return self.cells[0].case.benchmark

    @property
    def matrix(self) -> bool:
        """True if it has several pairs of ends at one size."""
        return len({cell.place for cell in self.cells}) > 1

    @property
    def ranks(self) -> int | None:
        """The number of ranks; None: not known."""
        place = self.cells[0].place
        return None if place.path == SOME_RANKS else len(place.ends)

    @property
    def hosts(self) -> int | None:
        """The number of hosts; None: not known."""
        return self.clues.hosts

    @property
    def collective(self) -> bool:
        """True if its bytes over the bus are known."""
        return self.cells[0].busbw_gbs is not None

    @property
    def of_time(self) -> bool:
        """True if it is a time, of which a rate says little."""
        return self.cells[0].unit == US and not (self.collective or self.ping_pong)

    @property
    def ping_pong(self) -> bool:
        """True if it is IMB's table of messages there and back, up to those that show a rate."""
        last = self.cells[-1].case
        large = last.x >= PATH_BYTES and self.cells[0].unit == US
        return large and self.clues.tool == "imb" and last.benchmark == "latency"

    @property
    def both_ways(self) -> bool:
        """True if its rate adds up both directions."""
        return self.benchmark in ("bibw", "put_bibw")

    @property
    def on_gpus(self) -> bool:
        """True if all its buffers are in GPU memory."""
        return {MEMORY[kind] for kind in self.case.buffers.split(",")} == {"gpu"}

    @property
    def on_hosts(self) -> bool:
        """True if all its buffers are in host memory."""
        return {MEMORY[kind] for kind in self.case.buffers.split(",")} == {"host"}

    @cached_property
    def points(self) -> list[Point]:
        """Its rates by size: of a collective operation over the bus, of a time size over time."""
        return [Point(cell.case.x, _rate(cell)) for cell in self.cells]

    @property
    def value(self) -> float:
        """The appraised figure: in GB/s, or a time in us."""
        if self.of_time:
            return self.cell.median or 0.0
        return _rate(self.cell)

    @property
    def best(self) -> float:
        """The best of several pairs; else the figure."""
        return max(_median(cell) for cell in self.cells) if self.matrix else self.value

    @property
    def message_bytes(self) -> int:
        """The size as the tool prints it: of all blocks, where it counts them all."""
        return printed_bytes(self.clues.tool, self.case, self.ranks if self.collective else None)


def named_benchmark(case: Case, unit: str) -> str:
    """The name of what was measured: a rate of messages there and back is no latency."""
    return "ping-pong" if case.benchmark == "latency" and unit != US else case.benchmark


def printed_bytes(tool: str, case: Case, ranks: int | None) -> int:
    """The size that a tool prints: of all blocks, where it counts them all as nccl-tests does."""
    traffic = TRAFFIC.get(case.benchmark)
    if tool != "nccl-tests" or traffic is None or not ranks:
        return case.x
    blocks = traffic.algorithm_bytes(1, ranks)
    return _roundest(blocks * case.x, blocks * (case.x + 1))


def _roundest(least: int, end: int) -> int:
    """The multiple of the largest power of two from `least` on, below `end`: blocks were rounded
    down."""
    step = 1
    while -(-least // (2 * step)) * 2 * step < end and 2 * step < end:
        step *= 2
    return -(-least // step) * step


def figures_of(results: Results, observations: Observations) -> list[Figure]:
    """The figures of all files, in the order of the results."""
    imported = guests(results) or {info.name for info in results.libraries}
    clues = {library.who: library.clues for library in observations.libraries if library.imported}
    wrong = {cell.who for cell in results.cells if cell.status == "wrong data"}
    cut = {failure.who for failure in results.failures if failure.status == "crashed"}
    mine = [cell for cell in results.cells if cell.who.library in imported and cell.who in clues]
    curves = grouped(mine, lambda cell: (cell.who, cell.place.group, cell.case.curve))
    measured = [
        (who, [cell for cell in cells if cell.median and cell.case.x])
        for (who, _, _), cells in curves.items()
    ]
    return [
        Figure(_ordered(cells), clues[who], who in wrong, who in cut)
        for who, cells in measured
        if cells
    ]


def only_wrong(results: Results) -> list[Cell]:
    """A cell of each imported curve whose payloads were all wrong."""
    imported = guests(results) or {info.name for info in results.libraries if info.imported}
    mine = [cell for cell in results.cells if cell.who.library in imported]
    curves = grouped(mine, lambda cell: (cell.who, cell.place.group, cell.case.curve))
    return [
        cells[-1]
        for cells in curves.values()
        if all(cell.status == "wrong data" and not cell.median for cell in cells)
    ]


def _ordered(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return tuple(sorted(cells, key=lambda cell: cell.case.x))


def _median(cell: Cell) -> float:
    return cell.median or 0.0


def _rate(cell: Cell) -> float:
    """GB/s of a cell: of a collective operation over the bus, of a time size over time."""
    value = _median(cell)
    if cell.unit != US or not value:
        return value
    return cell.case.x / value / 1e3 if cell.busbw_gbs is None else cell.busbw_gbs
