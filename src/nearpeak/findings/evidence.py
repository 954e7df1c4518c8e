# SPDX-License-Identifier: Apache-2.0
"""What findings are judged by: the ratio of two cells in each block that both ran in."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np

from nearpeak.libraries.library import Settings
from nearpeak.numbers import count, number, size, unit
from nearpeak.observations.observed import Block
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.names import axes_words
from nearpeak.results.results import Cell, Results
from nearpeak.statistics.comparisons import better_in, median_ratio
from nearpeak.statistics.intervals import LEVEL, Interval
from nearpeak.terms.axes import STAGING, staging
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Who

# Blocks that a finding rests on at least: fewer say nothing about how launches scatter.
FEWEST = 4


@dataclass(frozen=True)
class View:
    """The cells of a study that have a figure, and what is known of their benchmarks.

    Of sessions on several machines or versions, only the blocks that verdicts rest on too.
    """

    cells: list[Cell]
    benchmarks: Mapping[str, Benchmark]
    given: Mapping[Who, Settings]
    ceilings: Ceilings

    @classmethod
    def of(cls, results: Results) -> "View":
        """Of a whole study."""
        others = {one.session for one in results.sessions if not one.verdicts}
        if len(others) == len(results.sessions):
            others = set()  # nothing is compared
        return cls(
            [_without(cell, others) for cell in results.cells if cell.median],
            {benchmark.name: benchmark for benchmark in results.benchmarks},
            {
                Who(one.name, given.name): given
                for one in results.libraries
                for given in one.settings
            },
            Ceilings(results.ceilings),
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

    def attainable(self, cell: Cell) -> dict[Block, float]:
        """The best that a library can reach in each block; empty without a ceiling."""
        point = self.ceilings.of(cell.place, cell.case)
        if point is None or cell.by_library is None:
            return {}
        return (point.attainable or point).readings[0]

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
    limits: Mapping[Block, float]  # from which on it is told

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
        return min(self.beyond.values()) > 0

    @cached_property
    def beyond(self) -> dict[Block, float]:
        """How far it is above the limit in each block: logarithms."""
        return {block: math.log(own / self.limits[block]) for block, own in self.ratios.items()}

    @property
    def surely_beyond(self) -> bool:
        """Whether the median is above the limit, by its 95 % interval, which knows of sessions."""
        bounds = self._median(self.beyond.values(), LEVEL)
        return bounds is not None and bounds[0] > 1

    def interval(self, level: float) -> Interval | None:
        """Of the median; None where blocks are too few for the level."""
        return self._median(map(math.log, self.ratios.values()), level)

    def _median(self, logs: Iterable[float], level: float) -> Interval | None:
        return median_ratio(list(logs), [block.session for block in self.ratios], level).bounds

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


def loss(
    cell: Cell, other: Cell, ratios: Mapping[Block, float], limits: Mapping[Block, float]
) -> Loss | None:
    """By how much the other cell is better, of the ratios and limits in each block; None where too
    few have both."""
    ratios = {block: ratio for block, ratio in ratios.items() if block in limits}
    if len(ratios) < FEWEST:
        return None
    medians = (one.by_block for one in (cell, other))
    own, better = (float(np.median([values[block] for block in ratios])) for values in medians)
    return Loss(own, better, ratios, limits)


def against(cell: Cell, other: Cell, limit: float) -> Loss | None:
    """The same where both are figures of one unit, and the limit is the same in all blocks."""
    ratios = better_in(other.by_block, cell.by_block, cell.better)
    return loss(cell, other, ratios, dict.fromkeys(ratios, limit))


def _without(cell: Cell, sessions: Collection[int]) -> Cell:
    """A cell without its blocks of these sessions."""
    if not any(block.session in sessions for block in cell.blocks):
        return cell
    kept = {block: one for block, one in cell.by_block.items() if block.session not in sessions}
    return msgspec.structs.replace(cell, blocks=list(kept), launch_medians=list(kept.values()))


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
