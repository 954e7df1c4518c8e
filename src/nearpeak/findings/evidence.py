# SPDX-License-Identifier: Apache-2.0
"""What findings are judged by: the ratio of two cells in each block that both ran in."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nearpeak.identity import Curve, Who
from nearpeak.libraries.model import Settings
from nearpeak.numbers import number, size, unit
from nearpeak.results.model import Cell, Results
from nearpeak.results.names import axes_words
from nearpeak.statistics.comparisons import better_in
from nearpeak.statistics.intervals import LEVEL, interval
from nearpeak.study.benchmarks import Benchmark
from nearpeak.study.model import STAGING, staging

# Blocks that a finding rests on at least. Of 4, all ratios on one side of a limit that is as often
# exceeded as not come by chance in 1 of 16 cases; from 6 on the interval is one of 95 %.
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

    def lost_us(self, cell: Cell, better: float) -> float:
        """Time that one operation loses against another figure in the cell's unit; 0: nobody
        knows. Of a rate that counts both ways, both messages are the operation."""
        median = cell.median or 0.0
        if cell.unit == "us":
            return median - better
        if cell.unit == "GB/s":
            size_bytes = cell.case.x * self.benchmarks[cell.case.benchmark].moves.ways
            return message_us(size_bytes, median) - message_us(size_bytes, better)
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
    """How many times better the other figure is: of paired blocks, above 1."""

    ratio: float  # median
    low: float  # of the 95 % interval; of the range where blocks are too few for one
    high: float

    @property
    def text(self) -> str:
        """`2.1 times (1.9 to 2.4)`."""
        return f"{times(self.ratio)} ({number(self.low)} to {number(self.high)})"


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
    only_tried: Callable[[Seen], bool] = field(default=lambda _: False)


def loss(ratios: Iterable[float], sessions: Iterable[int], chosen_of: int = 1) -> Loss | None:
    """Of the ratios of paired blocks; None where there are too few.

    `chosen_of`: so many there were of which the other figure is the best. Bonferroni's level holds
    for all of them, and so for the one that was chosen by the data that tests it.
    """
    values = list(ratios)
    if len(values) < FEWEST:
        return None
    level = 1 - (1 - LEVEL) / chosen_of
    bounds = interval(values, level, list(sessions)) or (min(values), max(values))
    return Loss(float(np.median(values)), *bounds)


def beaten(cell: Cell, other: Cell, limit: float, chosen_of: int = 1) -> Loss | None:
    """By how much the other cell is better, if by more than `limit` times beyond doubt (`loss`)."""
    ratios = better_in(other.by_block, cell.by_block, cell.better)
    found = loss(ratios.values(), [block.session for block in ratios], chosen_of)
    return found if found is not None and found.low > limit else None


def message_us(size_bytes: int, gbs: float) -> float:
    """How long a message takes at a rate."""
    return size_bytes / gbs / 1e3


def cost(cell: Cell) -> float:
    """Smaller is better, whatever the cell measures."""
    median = cell.median or 0.0
    return median if cell.better == "lower" else -median


def bare(curve: Curve) -> Curve:
    """The curve but for how data was staged."""
    axes = {name: value for name, value in curve.axes.items() if name != STAGING}
    return Curve(benchmark=curve.benchmark, metric=curve.metric, buffers=curve.buffers, axes=axes)


def value(cell: Cell) -> str:
    """`12.1 us`."""
    return f"{number(cell.median)} {unit(cell.unit)}"


def times(ratio: float) -> str:
    """`2.1 times`."""
    return f"{number(ratio)} times"


def where(cell: Cell) -> str:
    """`openmpi, gpu-gpu nvlink`."""
    return f"{cell.who.label}, {cell.place.path}"
