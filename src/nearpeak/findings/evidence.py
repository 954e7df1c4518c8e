# SPDX-License-Identifier: Apache-2.0
"""What findings are judged by: the ratio of two cells in each block that both ran in."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nearpeak.identity import Who
from nearpeak.libraries.model import Settings
from nearpeak.numbers import count, number, size, unit
from nearpeak.observations.model import Block
from nearpeak.results.model import Cell, Results
from nearpeak.results.names import axes_words
from nearpeak.statistics.comparisons import better_in, median_ratio
from nearpeak.statistics.intervals import Interval
from nearpeak.study.benchmarks import Benchmark
from nearpeak.study.model import STAGING, staging

# Blocks that a finding rests on at least: fewer say nothing about how launches scatter.
FEWEST = 4


@dataclass(frozen=True)
class View:
    """The cells of a study that have a figure, and what is known of their benchmarks."""

    cells: list[Cell]
    benchmarks: Mapping[str, Benchmark]
    given: Mapping[Who, Settings]

    @classmethod
    def of(cls, results: Results) -> "View":
        """Of a whole study."""
        return cls(
            [cell for cell in results.cells if cell.median],
            {benchmark.name: benchmark for benchmark in results.benchmarks},
            {
                Who(one.name, given.name): given
                for one in results.libraries
                for given in one.settings
            },
        )

    @cached_property
    def unstaged(self) -> list[Cell]:
        """The cells in which the library gets the buffers as they are."""
        return [cell for cell in self.cells if staging(cell.case.axes) is None]

    @cached_property
    def varied(self) -> set[tuple[str, str]]:
        """Benchmark and axis, where the study has several values."""
        values: dict[tuple[str, str], set[str]] = defaultdict(set)
        for cell in self.cells:
            for name, value in cell.case.axes.items():
                values[cell.case.benchmark, name].add(value)
        return {where for where, several in values.items() if len(several) > 1}

    def lost_us(self, cell: Cell, loss: "Loss") -> float:
        """Time that one operation of a cell loses against another figure in its unit; 0: nobody
        knows. Of a rate that counts both ways, or all pairs, all messages are the operation."""
        if cell.unit == "us":
            return loss.own - loss.better
        if cell.unit == "GB/s":
            pairs = len(cell.place.ends) // 2
            size_bytes = cell.case.x * self.benchmarks[cell.case.benchmark].moves.ways * pairs
            return message_us(size_bytes, loss.own) - message_us(size_bytes, loss.better)
        return 0.0

    def case(self, cell: Cell) -> str:
        """`latency D,D at 8 B (calls=blocking)`: what tells it from all other cells of its path."""
        case = cell.case
        told = {
            name: value
            for name, value in case.axes.items()
            if name == STAGING or (case.benchmark, name) in self.varied
        }
        axes = ", ".join(axes_words(told))
        words = f"{case.figure} {case.buffers} at {size(case.x)}"
        return f"{words} ({axes})" if axes else words


@dataclass(frozen=True)
class Loss:
    """How many times better another figure is, all of it from the blocks that have both."""

    own: float  # medians, each in its unit
    better: float
    ratios: Mapping[Block, float]  # FEWEST or more
    limit: float  # from which on it is told

    @cached_property
    def ratio(self) -> float:
        """The median of all blocks."""
        return math.exp(float(np.median(np.log(list(self.ratios.values())))))

    @property
    def range(self) -> Interval:
        """Of all blocks."""
        return min(self.ratios.values()), max(self.ratios.values())

    @property
    def everywhere(self) -> bool:
        """Whether it is above the limit in each block."""
        return self.range[0] > self.limit

    def interval(self, level: float) -> Interval | None:
        """Of the median; None where blocks are too few for the level."""
        logs = np.log(list(self.ratios.values()))
        return median_ratio(logs, [block.session for block in self.ratios], level).bounds

    @property
    def text(self) -> str:
        """`2.1 times (1.9 to 2.4 in 6 blocks)`."""
        low, high = self.range
        blocks = count(len(self.ratios), "block")
        return f"{times(self.ratio)} ({number(low)} to {number(high)} in {blocks})"


@dataclass(frozen=True)
class Seen:
    """One cell beside what may be better: what is asked, whether or not it loses."""

    cell: Cell
    loss: Loss
    lost_us: float  # by one operation
    sentence: str  # if it does


@dataclass
class Kind:
    """One kind of finding: the name of its file, and what finds it."""

    name: str
    find: Callable[[View], Iterable[Seen]]
    remedy: str  # what to do about it, a sentence
    only_tried: Callable[[Seen], bool] = field(default=lambda _: False)


def loss(cell: Cell, other: Cell, ratios: Mapping[Block, float], limit: float) -> Loss | None:
    """By how much the other cell is better, of the ratios in each block; None where there are too
    few."""
    if len(ratios) < FEWEST:
        return None
    medians = (one.by_block for one in (cell, other))
    own, better = (float(np.median([values[block] for block in ratios])) for values in medians)
    return Loss(own, better, ratios, limit)


def against(cell: Cell, other: Cell, limit: float) -> Loss | None:
    """The same where both are figures of one unit."""
    return loss(cell, other, better_in(other.by_block, cell.by_block, cell.better), limit)


def message_us(size_bytes: int, gbs: float) -> float:
    """How long a message takes at a rate."""
    return size_bytes / gbs / 1e3


def value(amount: float, cell: Cell) -> str:
    """`12.1 us`, in the unit of a cell."""
    return f"{number(amount)} {unit(cell.unit)}"


def times(ratio: float) -> str:
    """`2.1 times`."""
    return f"{number(ratio)} times"


def where(cell: Cell) -> str:
    """`openmpi, gpu-gpu nvlink`."""
    return f"{cell.who.label}, {cell.place.path}"
