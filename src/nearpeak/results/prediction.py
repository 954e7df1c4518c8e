# SPDX-License-Identifier: Apache-2.0
"""The predicted time of the messages of an application, from messages of the same study.

The model is LogGP's (Alexandrov et al., SPAA 1995): the first message takes its latency, each of
the others that are sent at once as long as one of a window of them does; and as they go both ways
at once, as much longer as such windows take then. docs/methods/statistics.md says what it leaves
out.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from nearpeak.grouping import collected
from nearpeak.observations.observed import Block
from nearpeak.results.results import Cell
from nearpeak.terms.axes import State, staging, state_of
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import Place, Who
from nearpeak.terms.path import DataPath
from nearpeak.terms.work import Work

Times = dict[int, float]  # us of a message, by its bytes
# The state of buffers that applications pack anew in every iteration; the first matters most.
FRESH = (("touch", "sender"), ("reuse", "rotating"))
REACH = 4  # times the largest that was measured: larger ones are not predicted


class _Measured:
    """The times of messages of one state of their buffers, in us per message."""

    def __init__(self) -> None:
        self.alone: Times = {}  # with nothing else on its way
        self.one_way: Times = {}  # of a window of them
        self.both_ways: Times = {}  # of two such windows, one each way

    def us(self, messages: Sequence[int]) -> float | None:
        """The time of messages of these sizes, all at once and as many each way; None beyond what
        was measured."""
        longest, *others = sorted(messages, reverse=True)
        curves = [times for times in (self.alone, self.one_way, self.both_ways) if times]
        if longest > REACH * min(map(max, curves)):
            return None
        first = _interpolated(self.alone, longest)
        if self.one_way and self.both_ways:
            first *= max(
                1.0, _interpolated(self.both_ways, longest) / _interpolated(self.one_way, longest)
            )
        together = self.both_ways or self.one_way or self.alone
        return first + sum(_interpolated(together, size_bytes) for size_bytes in others)


Measured = dict[tuple[Who, Place, str, State], _Measured]


class Messages:
    """The time of messages between the ranks of a place, for each library with its settings."""

    def __init__(
        self, cells: Iterable[Cell], benchmarks: Mapping[str, Benchmark], paths: Sequence[DataPath]
    ) -> None:
        """Takes the cells of messages. Axes other than the state of the buffers have their
        default."""
        self._paths = paths
        self._benchmarks = benchmarks
        self._cells = [cell for cell in cells if cell.median and self._counts(cell)]
        self._measured = self._table((cell, cell.median or 0.0) for cell in self._cells)

    @cached_property
    def _of_blocks(self) -> dict[Block, Measured]:
        values = collected(
            (block, (cell, median))
            for cell in self._cells
            for block, median in cell.by_block.items()
        )
        return {block: self._table(values[block]) for block in sorted(values)}

    def _counts(self, cell: Cell) -> bool:
        case, benchmark = cell.case, self._benchmarks[cell.case.benchmark]
        usual = benchmark.defaults | dict(state_of(case.axes))
        plain = all(usual.get(name, value) == value for name, value in case.axes.items())
        main = case.metric == benchmark.main.name
        return plain and main and case.x > 0 and staging(case.axes) is None

    def _table(self, medians: Iterable[tuple[Cell, float]]) -> Measured:
        table: Measured = defaultdict(_Measured)
        for cell, median in medians:
            if median <= 0:
                continue
            case, benchmark = cell.case, self._benchmarks[cell.case.benchmark]
            mine = table[cell.who, cell.place, case.buffers, state_of(case.axes)]
            moves = benchmark.moves
            if benchmark.one_message:
                mine.alone[case.x] = median
            elif benchmark.one_way:
                mine.one_way[case.x] = case.x / median / 1e3
            elif benchmark.is_pair and (moves.window, moves.ways) == (True, 2):
                mine.both_ways[case.x] = 2 * case.x / median / 1e3
        return table

    def iteration_us(self, who: Who, place: Place, buffers: str, work: Work) -> float | None:
        """The time of an iteration, us, whose messages a rank sends and receives at once; None
        where the study has no times for them. Messages that announce them count where it has times
        for those.

        Between more ranks than two they are those of the nearest pair among them.
        """
        return self._iteration_us(self._measured, who, place, buffers, work)

    def by_block(self, who: Who, place: Place, buffers: str, work: Work) -> dict[Block, float]:
        """The same from the measurements of each block by itself."""
        return {
            block: us
            for block, measured in self._of_blocks.items()
            if (us := self._iteration_us(measured, who, place, buffers, work)) is not None
        }

    def _iteration_us(
        self, measured: Measured, who: Who, place: Place, buffers: str, work: Work
    ) -> float | None:
        us = self._us(measured, who, place, buffers, work.messages)
        if us is None or not work.announced_bytes:
            return us
        announcing = [work.announced_bytes] * len(work.messages)
        return us + (self._us(measured, who, place, HOST, announcing) or 0.0)

    def _us(
        self, measured: Measured, who: Who, place: Place, buffers: str, messages: Sequence[int]
    ) -> float | None:
        places = [place, *self._within(place)]
        states = (_states(measured, [who, candidate, buffers]) for candidate in places)
        by_state = next(filter(None, states), None)
        if by_state is None or not messages:
            return None
        # The measured state that is most like messages that were just written.
        fresh = max(
            by_state, key=lambda state: [dict(state).get(name) == value for name, value in FRESH]
        )
        return by_state[fresh].us(messages)

    def _within(self, place: Place) -> list[Place]:
        """The pairs among the ranks of a place, the nearest first, as paths come."""
        wide = [path for path in self._paths if path.place == place and len(path.ends) > 2]
        pairs = [path for path in self._paths if path.is_pair]
        return [pair.place for path in wide for pair in pairs if path.holds(pair)]


def _states(measured: Measured, owner: list[Who | Place | str]) -> dict[State, _Measured]:
    return {state: mine for (*key, state), mine in measured.items() if key == owner and mine.alone}


def _interpolated(times: Times, size_bytes: int) -> float:
    """The time of a size on the line of the logarithms of its neighbours; beyond the largest size
    at its rate, below the smallest its time."""
    largest = max(times)
    if size_bytes >= largest:
        return times[largest] * size_bytes / largest
    upper = min(size for size in times if size >= size_bytes)
    lower = max((size for size in times if size < size_bytes), default=upper)
    if lower == upper:
        return times[upper]
    share = math.log(size_bytes / lower) / math.log(upper / lower)
    return math.exp((1 - share) * math.log(times[lower]) + share * math.log(times[upper]))
