# SPDX-License-Identifier: Apache-2.0
"""How long the messages of an application should take, by what messages took in the same study.

The model is LogGP's (Alexandrov et al., SPAA 1995): the first message takes its latency, each of
the others that are sent at once as long as one of a window of them does. docs/methodology.md says
what it leaves out.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from nearpeak.identity import Place, Who
from nearpeak.results.model import Cell
from nearpeak.study.benchmarks import Benchmark
from nearpeak.study.model import staging

Times = dict[int, float]  # us of a message, by its bytes


class Messages:
    """The time of messages between the ranks of a place, for each library with its settings."""

    def __init__(self, cells: Iterable[Cell], known: Mapping[str, Benchmark]) -> None:
        """`cells`: those of messages; with the default of each axis alone."""
        self._first: dict[tuple[Who, Place, str], Times] = defaultdict(dict)
        self._next: dict[tuple[Who, Place, str], Times] = defaultdict(dict)
        for cell in cells:
            benchmark = known[cell.case.benchmark]
            usual = {axis.name: axis.default for axis in benchmark.axes}
            plain = all(usual.get(name, value) == value for name, value in cell.case.axes.items())
            if not plain or staging(cell.case.axes) or not cell.median or cell.case.x <= 0:
                continue
            key = cell.who, cell.place, cell.case.buffers
            if benchmark.one_message and cell.case.metric == benchmark.main.name:
                self._first[key][cell.case.x] = cell.median
            elif benchmark.one_way and cell.case.metric == benchmark.main.name:
                self._next[key][cell.case.x] = cell.case.x / cell.median / 1e3

    def us(self, who: Who, place: Place, buffers: str, messages: Sequence[int]) -> float | None:
        """Of messages of so many bytes that a rank sends and receives at once; None where the study
        has no times for it."""
        first = self._first.get((who, place, buffers))
        if not first or not messages:
            return None
        longest, *others = sorted(messages, reverse=True)
        gap = self._next.get((who, place, buffers), first)
        return _at(first, longest) + sum(_at(gap, one) for one in others)


def _at(times: Times, size_bytes: int) -> float:
    """Between two sizes on the line of their logarithms; beyond the largest at its rate, below the
    smallest its time."""
    sizes = sorted(times)
    if size_bytes <= sizes[0]:
        return times[sizes[0]]
    if size_bytes >= sizes[-1]:
        return times[sizes[-1]] * size_bytes / sizes[-1]
    upper = next(one for one in sizes if one >= size_bytes)
    lower = sizes[sizes.index(upper) - 1]
    share = math.log(size_bytes / lower) / math.log(upper / lower)
    return math.exp((1 - share) * math.log(times[lower]) + share * math.log(times[upper]))
