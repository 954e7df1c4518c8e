# SPDX-License-Identifier: Apache-2.0
"""A message that would be faster in parts: two of half its size, or more and smaller ones."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, above
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import EAGER
from nearpeak.findings.sources import GUIDELINES, SHARED_MEMORY, THRESHOLDS
from nearpeak.numbers import count, size
from nearpeak.results.results import Cell

ENDS = 2  # that have a buffer in a cache


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every figure with that of the next smaller size that divides it."""
    for curve in view.curves:
        for position, cell in enumerate(curve):
            smaller = (part for part in reversed(curve[:position]) if _divides(part, cell))
            part = next(smaller, None)
            if part is None or part.lies_in != cell.lies_in or not _lies_like_its_parts(view, cell):
                continue  # parts of bytes in memory do not lie in a cache
            if cell.unit in ("us", "GB/s"):
                # The time grows with the number of parts; a rate does not.
                parts = float(cell.case.x // part.case.x) if cell.unit == "us" else 1.0
                if possible_loss := above(view, cell, part, WORTH, parts):
                    yield possible_loss


def _lies_like_its_parts(view: View, cell: Cell) -> bool:
    """True if its bytes are known to lie in the same cache as those of its parts.

    A shared cache, which other virtual machines may use too, may not have room for two buffers.
    """
    if cell.lies_in != "shared cache":
        return cell.lies_in is not None
    machine = view.observations.machine
    last = max((cache.level for cache in machine.caches), default=0)
    room = min((cache.size_bytes for cache in machine.caches if cache.level == last), default=0)
    return not machine.virtual and 2 * ENDS * cell.case.x <= room


def _divides(part: Cell, cell: Cell) -> bool:
    return part.case.x > 0 and cell.case.x % part.case.x == 0


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    total, part = it.finding_case.x, it.other.case.x
    parts = count(total // part, "message") if it.evidence("own").unit == "us" else "messages"
    return (
        f"{it.subject}: {it.measured} against {it.better} of {parts} of {size(part)}, {it.ratio}."
    )


RULE = Rule(
    name="parts",
    tells=f"An operation takes more than {WORTH:g} times as long as equal parts of it, one after"
    " the other, by the time of the next smaller size that was measured and divides it (a rate:"
    " that of the smaller size is so many times higher), beyond what the ceilings of both explain."
    " Only where it is known that the bytes of both lie in the same caches, or in memory: in a"
    " cache that cores share, of at most a quarter of it, and not on a virtual machine.",
    find=find,
    origin="settings",
    headline="{it.short}: {it.measured}, {it.better} in parts of {it.other_size} ({it.times})",
    sentence=sentence,
    action="Send such messages in parts, or change the library's threshold.",
    remedy="Send such messages in parts, or change the size of the pieces in which the library"
    " moves them, or its threshold.",
    settings=[EAGER],
    sources=[GUIDELINES, SHARED_MEMORY, THRESHOLDS],
)
