# SPDX-License-Identifier: Apache-2.0
"""Windowed bandwidth far above the one that the latency of the same size comes to.

Some of it is in the nature of the path: the ceilings of both say how much. A latency is half of the
way there and back. Between unlike memories the two ways may differ by much, so that a rate of both
ways stands beside it there.
"""

from collections.abc import Iterator, Mapping
from statistics import median

from nearpeak.findings.evidence import Rule, Seen, View, loss, message_us
from nearpeak.findings.settings import RENDEZVOUS
from nearpeak.findings.sources import THRESHOLDS
from nearpeak.observations.observed import Block
from nearpeak.results.results import Cell
from nearpeak.terms.axes import CALLS
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import turned

LIMIT = 3.0  # times the blocking bandwidth ...
EXPLAINED = 0.5  # ... unless the ceilings' own ratio is this part of it or more


def find(view: View) -> Iterator[Seen]:
    """Every time of one message beside a rate of the same messages: of the same family, as a window
    of one-sided operations is no remedy for messages."""
    for cell in view.unstaged:
        benchmark = view.benchmarks[cell.case.benchmark]
        if not (benchmark.one_message and cell.case.x and _calls(cell, "blocking")):
            continue
        for name, known in view.benchmarks.items():
            if known.family == benchmark.family and _same_ways(known, cell.case.buffers):
                for other in filter(_windowed, view.beside(cell, name)):
                    if _alike(cell, other) and (found := _beside(view, cell, other)):
                        yield found


def _same_ways(benchmark: Benchmark, buffers: str) -> bool:
    """Whether its rate is of messages that go as those there and back do."""
    if turned(buffers) == buffers:
        return benchmark.one_way
    return benchmark.is_pair and benchmark.moves.ways == 2


def _windowed(cell: Cell) -> bool:
    """Whether it is a rate of several messages in flight."""
    # A window of 1: of messages as large as may fly; None: how many fly is not known.
    return cell.unit == "GB/s" and cell.window not in (None, 1) and _calls(cell, "nonblocking")


def _calls(cell: Cell, how: str) -> bool:
    """Whether it sends so, or has nothing to choose from."""
    return cell.case.axes.get(CALLS, how) == how


def _alike(cell: Cell, other: Cell) -> bool:
    """Whether the axes that both have are equal, but for the calls."""
    own, others = cell.case.axes, other.case.axes
    return all(others.get(name, own[name]) == own[name] for name in own if name != CALLS)


def _beside(view: View, cell: Cell, other: Cell) -> Seen | None:
    size = cell.case.x
    natural = _ratios(size, view.attainable(cell), view.attainable(other))
    limits = {block: max(LIMIT, ratio / EXPLAINED) for block, ratio in natural.items()}
    found = loss(cell, other, _ratios(size, cell.by_block, other.by_block), limits)
    if found is None:
        return None
    return Seen(cell, other, found, ceilings=median(natural[block] for block in found.ratios))


def _ratios(
    size: int, times_us: Mapping[Block, float], rates: Mapping[Block, float]
) -> dict[Block, float]:
    """How many times as long a message takes alone, in each block that measured both."""
    return {
        block: time_us / message_us(size, rates[block])
        for block, time_us in times_us.items()
        if rates.get(block, 0.0) > 0
    }


RULE = Rule(
    name="blocking",
    tells=f"A window of messages with nonblocking calls moves more than {LIMIT:g} times as much as"
    " single messages of the same size (size / time), and the same ratio of the two ceilings is"
    f" less than {EXPLAINED:g} of that. Between unlike memories (`H,D`) it is a window of messages"
    " both ways, as single ones go there and back.",
    find=find,
    remedy="Send such messages several at a time, with nonblocking calls.",
    settings=[RENDEZVOUS],
    sources=[THRESHOLDS],
)
