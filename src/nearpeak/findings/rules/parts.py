# SPDX-License-Identifier: Apache-2.0
"""A message that would be faster in parts: two of half its size, or more and smaller ones."""

from collections.abc import Iterator

import msgspec

from nearpeak.findings.evidence import Rule, Seen, View, beyond, loss
from nearpeak.findings.sources import GUIDELINES, THRESHOLDS
from nearpeak.results.results import Cell
from nearpeak.statistics.comparisons import better_in

LIMIT = 1.5  # times slower than its parts


def find(view: View) -> Iterator[Seen]:
    """Every figure beside that of the next smaller size of its curve that divides it."""
    for curve in view.curves:
        for place, whole in enumerate(curve):
            smaller = (part for part in reversed(curve[:place]) if _divides(part, whole))
            part = next(smaller, None)
            if part is None or part.lies_in != whole.lies_in:
                continue  # what is cut from bytes in memory does not lie in a cache
            if whole.unit in ("us", "GB/s"):
                times = float(whole.case.x // part.case.x) if whole.unit == "us" else 1.0
                if found := _beside(view, part, whole, times):
                    yield found


def _divides(part: Cell, whole: Cell) -> bool:
    return part.case.x > 0 and whole.case.x % part.case.x == 0


def _beside(view: View, part: Cell, whole: Cell, times: float) -> Seen | None:
    """`times`: so many parts take the time of the whole; of a rate it is that of any number."""
    parts = _scaled(part, times)
    ratios = better_in(parts.by_block, whole.by_block, whole.better)
    natural = {block: ratio / times for block, ratio in view.natural(whole, part).items()}
    found = loss(whole, parts, ratios, beyond(ratios, natural, LIMIT))
    return Seen(whole, part, found, scaled=times) if found else None


def _scaled(cell: Cell, times: float) -> Cell:
    return msgspec.structs.replace(
        cell, launch_medians=[median * times for median in cell.launch_medians]
    )


RULE = Rule(
    name="parts",
    tells=f"An operation takes more than {LIMIT:g} times as long as equal parts of it, one after"
    " the other, by the time of the next smaller size that was measured and divides it (a rate:"
    " that of the smaller size is so many times higher), beyond what the ceilings of both explain."
    " Only where the bytes of both lie in the same caches, or in memory.",
    find=find,
    remedy="Send such messages in parts, or change the size of the pieces in which the library"
    " moves them, or its threshold.",
    sources=[GUIDELINES, THRESHOLDS],
)
