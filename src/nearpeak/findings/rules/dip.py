# SPDX-License-Identifier: Apache-2.0
"""A size at which a library is slower than at smaller and larger ones: two protocols meet there."""

import math
from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, expected
from nearpeak.findings.sentences import Phrases, gap, value
from nearpeak.findings.settings import EAGER
from nearpeak.findings.sources import SHARED_MEMORY, of_ucx
from nearpeak.observations.observed import Block
from nearpeak.results.results import Cell
from nearpeak.statistics.comparisons import better_in


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares each figure with its two neighbours, by their measured ceilings."""
    for curve in view.curves:
        for smaller, cell, larger in zip(curve, curve[1:], curve[2:], strict=False):
            if not _stands_out(smaller, cell, larger):
                continue
            left, right = _away(view, smaller), _away(view, larger)
            ratios = {
                block: away / max(left[block], right[block])
                for block, away in _away(view, cell).items()
                if block in left and block in right
            }
            if loss := expected(cell, ratios, dict.fromkeys(ratios, WORTH)):
                further = max(
                    (smaller, larger), key=lambda neighbour: 1 / (neighbour.fraction or 1.0)
                )
                yield PossibleLoss(cell, further, loss)


def _stands_out(smaller: Cell, cell: Cell, larger: Cell) -> bool:
    """True if a figure is worse than the line between its neighbours, in logarithms.

    A ceiling that is better at only one size, as of a copy in a cache, is no fault of a library.
    """
    values = [point.median for point in (smaller, cell, larger)]
    first, middle, last = (math.log(value) if value else math.nan for value in values)
    low, position, high = (math.log(max(point.case.x, 1)) for point in (smaller, cell, larger))
    beyond = middle - first - (last - first) * (position - low) / (high - low)
    return beyond > 0 if cell.better == "lower" else beyond < 0


def _away(view: View, cell: Cell) -> dict[Block, float]:
    """The factor from the measured ceiling in each block; empty without one."""
    if cell.by_library is None or cell.by_library.kind != "measured":
        return {}
    return better_in(view.attainable(cell), cell.by_block, cell.better)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    ceiling, other_ceiling = (
        it.evidence("own ceiling"),
        it.evidence("alternative ceiling"),
    )
    this_size, next_size = it.size, it.other_size
    return (
        f"{it.subject}: {it.measured} is {gap(it.evidence('own'), ceiling)} times from the"
        f" {value(ceiling)} that a library can attain. At {next_size} the gap is"
        f" {gap(it.evidence('alternative'), other_ceiling)} times ({it.better} and"
        f" {value(other_ceiling)}), and at the size on the other side it is smaller, too. Within"
        f" blocks, the gap at {this_size} is {it.ratio_in_blocks} that at {next_size}: a protocol"
        f" switch near {this_size} is likely."
    )


RULE = Rule(
    name="dip",
    tells=f"A figure is more than {WORTH:g} times further from its measured ceiling (ceiling /"
    " rate, or time / ceiling) than both the next smaller and the next larger size, and worse than"
    " the line between both in a plot of logarithms.",
    find=find,
    origin="settings",
    headline="{it.short}: {it.measured}, {it.attainable} without MPI ({it.gap}x);"
    " at {it.other_size} {it.other_gap}x",
    sentence=sentence,
    action="Move the threshold between two protocols of the library.",
    remedy="Here two protocols of the library may meet: move the threshold between them, or avoid"
    " such messages.",
    settings=[EAGER],
    sources=[
        SHARED_MEMORY,
        of_ucx(1832, "a rendezvous threshold of 32 KiB is too low")._replace(hosts="several"),
    ],
)
