# SPDX-License-Identifier: Apache-2.0
"""Bidirectional rates hardly above one-way rates, where the path sustains more."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import PossibleLoss, Rule, View, expected
from nearpeak.findings.sentences import Phrases, value
from nearpeak.findings.sources import Reference, issue
from nearpeak.numbers import size
from nearpeak.results.results import Cell
from nearpeak.statistics.comparisons import better_in
from nearpeak.terms.axes import CALLS
from nearpeak.terms.buffers import turned
from nearpeak.terms.identity import Place, Who

LIMIT = 1.5  # times the bidirectional rate, which is at most twice the one-way rate
# Smaller messages take mostly CPU time, which both directions share.
LARGE_BYTES = 1 << 20

OneWay = dict[tuple[Who, Place, str, int, str], list[Cell]]


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares bidirectional rates with the slower one-way rate times the ratio of ceilings."""
    one_way: OneWay = defaultdict(list)
    for cell in view.unstaged:
        benchmark = view.benchmarks[cell.case.benchmark]
        if benchmark.one_way:
            key = cell.who, cell.place, cell.case.buffers, cell.case.x, benchmark.family
            one_way[key].append(cell)
    for cell in view.unstaged:
        benchmark = view.benchmarks[cell.case.benchmark]
        both = benchmark.is_pair and benchmark.moves.ways == 2 and cell.unit == "GB/s"
        if not both or cell.case.x < LARGE_BYTES:
            continue
        buffers = cell.case.buffers
        ways = []
        for direction in dict.fromkeys((buffers, turned(buffers))):
            key = cell.who, cell.place, direction, cell.case.x, benchmark.family
            ways.append([other for other in one_way[key] if _alike(cell, other)])
        # Between unlike memories one direction may be slower: both must be measured.
        if all(ways):
            slower = min((max(way, key=_rate) for way in ways), key=_rate)
            if possible_loss := _compare(view, cell, slower):
                yield possible_loss


def _rate(cell: Cell) -> float:
    return cell.median or 0.0


def _alike(cell: Cell, other: Cell) -> bool:
    """True if the axes that both have are equal, and the calls."""
    axes, others = cell.case.axes, other.case.axes
    return cell.window == other.window and all(
        others[name] == value for name, value in axes.items() if name in others or name == CALLS
    )


def _compare(view: View, cell: Cell, other: Cell) -> PossibleLoss | None:
    natural = {block: 1 / ratio for block, ratio in view.natural(cell, other).items()}
    single = better_in(other.by_block, cell.by_block, cell.better)
    ratios = {block: ratio * natural[block] for block, ratio in single.items() if block in natural}
    loss = expected(cell, ratios, dict.fromkeys(ratios, LIMIT))
    return PossibleLoss(cell, other, loss) if loss else None


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    one_way, both_ways = (
        it.evidence("alternative ceiling"),
        it.evidence("own ceiling"),
    )
    return (
        f"{it.subject}: both ways at once move {it.measured}, one way alone moves"
        f" {it.better} ({it.other.case.figure} {it.other.case.buffers}); a"
        f" library can attain {value(both_ways)} both ways, {value(one_way)} one way. By these"
        f" both ways could move {it.ratio_in_blocks} as much."
    )


RULE = Rule(
    name="bidirectional",
    tells=f"Of messages of {size(LARGE_BYTES)} or more, the rate of one way (the slower one),"
    f" times the ratio of the ceilings of both ways and of one, is more than {LIMIT:g} times the"
    " rate of both ways.",
    find=find,
    origin="software",
    headline="{it.short}: both ways at once move {it.measured}, one way alone {it.better}",
    sentence=sentence,
    action="Send one way after the other, or try other settings.",
    remedy="Both ways at once gain little or lose: send one way after the other, or try other"
    " settings of the library.",
    sources=[
        Reference(
            issue("NVIDIA/nvbandwidth", 53, "one of two ways at once drops to half", "nvbandwidth"),
            memory="device",
        ),
    ],
)
