# SPDX-License-Identifier: Apache-2.0
"""What findings are judged by: the ratio of two cells in each block that both ran in."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nearpeak.identity import Curve, Who
from nearpeak.libraries.model import Settings
from nearpeak.numbers import count, number, size, unit
from nearpeak.observations.model import Block
from nearpeak.results.model import Cell, Results
from nearpeak.results.names import axes_words
from nearpeak.statistics.comparisons import better_in, median_ratio
from nearpeak.statistics.intervals import LEVEL
from nearpeak.study.benchmarks import Benchmark
from nearpeak.study.model import STAGING, staging

# Blocks that a finding rests on at least. Of 4, all ratios on one side of a limit that is as often
# exceeded as not come by chance in 1 of 16 cases; that it is a range, and no interval, is said.
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


class Loss(NamedTuple):
    """How many times better another figure is, all of it from the blocks that have both."""

    own: float  # medians, each in its unit
    better: float
    ratio: float  # median, above 1
    low: float  # of the 95 % interval; of the range where blocks are too few for one
    high: float
    blocks: int
    sure: bool  # whether it is an interval

    @property
    def text(self) -> str:
        """`2.1 times (1.9 to 2.4)`; `2.1 times (1.9 to 2.4, the range of 5 blocks)`."""
        span = f"{number(self.low)} to {number(self.high)}"
        if not self.sure:
            span += f", the range of {count(self.blocks, 'block')}"
        return f"{times(self.ratio)} ({span})"


@dataclass(frozen=True)
class Seen:
    """One cell that loses."""

    cell: Cell
    loss: Loss
    lost_us: float  # by one operation
    sentence: str


@dataclass
class Kind:
    """One kind of finding: the name of its file, and what finds it."""

    name: str
    find: Callable[[View], Iterable[Seen]]
    remedy: str  # what to do about it, a sentence
    only_tried: Callable[[Seen], bool] = field(default=lambda _: False)


def loss(cell: Cell, other: Cell, ratios: Mapping[Block, float], chosen_of: int = 1) -> Loss | None:
    """By how much the other cell is better, of the ratios in each block; None where there are too
    few.

    `chosen_of`: so many there were of which the other is the best. Bonferroni's level holds for all
    of them, and so for the one that was chosen by the data that tests it.
    """
    if len(ratios) < FEWEST:
        return None
    logs = np.log(list(ratios.values()))
    level = 1 - (1 - LEVEL) / chosen_of
    found = median_ratio(logs, [block.session for block in ratios], level)
    low, high = found.bounds or (min(ratios.values()), max(ratios.values()))
    medians = (one.by_block for one in (cell, other))
    own, better = (float(np.median([values[block] for block in ratios])) for values in medians)
    return Loss(own, better, found.value, low, high, len(ratios), found.bounds is not None)


def beaten(cell: Cell, other: Cell, limit: float, chosen_of: int = 1) -> Loss | None:
    """By how much the other cell is better, if by more than `limit` times beyond doubt (`loss`)."""
    ratios = better_in(other.by_block, cell.by_block, cell.better)
    found = loss(cell, other, ratios, chosen_of)
    return found if found is not None and found.low > limit else None


def most_beaten(cell: Cell, others: Sequence[Cell], limit: float) -> tuple[Cell, Loss] | None:
    """The one of the others that is better than a cell by most, and by how much (`beaten`)."""
    found = [(other, lost) for other in others if (lost := beaten(cell, other, limit, len(others)))]
    return max(found, key=lambda one: one[1].ratio, default=None)


def message_us(size_bytes: int, gbs: float) -> float:
    """How long a message takes at a rate."""
    return size_bytes / gbs / 1e3


def bare(curve: Curve) -> Curve:
    """The curve but for how data was staged."""
    axes = {name: value for name, value in curve.axes.items() if name != STAGING}
    return Curve(benchmark=curve.benchmark, metric=curve.metric, buffers=curve.buffers, axes=axes)


def value(amount: float, cell: Cell) -> str:
    """`12.1 us`, in the unit of a cell."""
    return f"{number(amount)} {unit(cell.unit)}"


def times(ratio: float) -> str:
    """`2.1 times`."""
    return f"{number(ratio)} times"


def where(cell: Cell) -> str:
    """`openmpi, gpu-gpu nvlink`."""
    return f"{cell.who.label}, {cell.place.path}"
