# SPDX-License-Identifier: Apache-2.0
"""Windowed bandwidth far above size / latency of the same size.

The ratio of the two ceilings explains a part. A latency is half a round trip. Between unlike
memories the two directions may differ much: there it is compared with a bidirectional rate.
"""

from collections.abc import Iterator, Mapping
from statistics import median

from nearpeak.findings.evidence import PossibleLoss, Rule, View, loss, message_us
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import RENDEZVOUS
from nearpeak.findings.sources import THRESHOLDS
from nearpeak.numbers import number
from nearpeak.observations.observed import Block
from nearpeak.results.results import Cell
from nearpeak.terms.axes import CALLS
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import turned

LIMIT = 3.0  # times the blocking bandwidth ...
EXPLAINED = 0.5  # ... unless the ratio of the ceilings is this part of it or more


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares the time of one message with a rate of the same messages, in the same family.

    A window of one-sided operations is no remedy for messages.
    """
    for cell in view.unstaged:
        benchmark = view.benchmarks[cell.case.benchmark]
        if not (benchmark.one_message and cell.case.x and _calls(cell, "blocking")):
            continue
        for name, candidate in view.benchmarks.items():
            if candidate.family == benchmark.family and _same_ways(candidate, cell.case.buffers):
                for other in filter(_windowed, view.cells_like(cell, name)):
                    if _alike(cell, other) and (possible_loss := _compare(view, cell, other)):
                        yield possible_loss


def _same_ways(benchmark: Benchmark, buffers: str) -> bool:
    """True if its rate is of messages in the directions of the round trip."""
    if turned(buffers) == buffers:
        return benchmark.one_way
    return benchmark.is_pair and benchmark.moves.ways == 2


def _windowed(cell: Cell) -> bool:
    """True for a rate of several messages in flight."""
    # A window of 1 fits only the largest messages; None: not known.
    return cell.unit == "GB/s" and cell.window not in (None, 1) and _calls(cell, "nonblocking")


def _calls(cell: Cell, kind: str) -> bool:
    """True if the cell uses this kind of calls, or has no such axis."""
    return cell.case.axes.get(CALLS, kind) == kind


def _alike(cell: Cell, other: Cell) -> bool:
    """True if the axes that both have are equal, except the calls."""
    axes, others = cell.case.axes, other.case.axes
    return all(others.get(name, axes[name]) == axes[name] for name in axes if name != CALLS)


def _compare(view: View, cell: Cell, other: Cell) -> PossibleLoss | None:
    size = cell.case.x
    natural = _ratios(size, view.attainable(cell), view.attainable(other))
    limits = {block: max(LIMIT, ratio / EXPLAINED) for block, ratio in natural.items()}
    excess = loss(cell, other, _ratios(size, cell.by_block, other.by_block), limits)
    if excess is None:
        return None
    return PossibleLoss(
        cell, other, excess, ceilings=median(natural[block] for block in excess.ratios)
    )


def _ratios(
    size: int, times_us: Mapping[Block, float], rates: Mapping[Block, float]
) -> dict[Block, float]:
    """The time of a single message over that in a window, in each block with both."""
    return {
        block: time_us / message_us(size, rates[block])
        for block, time_us in times_us.items()
        if rates.get(block, 0.0) > 0
    }


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: one message at a time moves {it.measured_in('GB/s')}"
        f" ({it.measured_in('us')}), {it.evidence('alternative').window} in flight move"
        f" {it.better} ({it.other.case.figure}): {it.ratio} as much. The"
        f" ceilings differ by"
        f" {number(it.cost.ceilings)} times."
    )


RULE = Rule(
    name="blocking",
    tells=f"A window of messages with nonblocking calls moves more than {LIMIT:g} times as much as"
    " single messages of the same size (size / time), and the same ratio of the two ceilings is"
    f" less than {EXPLAINED:g} of that. Between unlike memories (`H,D`) it is a window of messages"
    " both ways, as single ones go there and back.",
    find=find,
    origin="software",
    headline="one message of {it.size}: {it.measured}; {it.window} in flight: {it.better_each} each"
    " ({it.times})",
    sentence=sentence,
    remedy="Send such messages several at a time, with nonblocking calls.",
    settings=[RENDEZVOUS],
    sources=[THRESHOLDS],
)
