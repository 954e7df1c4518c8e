# SPDX-License-Identifier: Apache-2.0
"""A message that would be faster in parts: two of half its size, or more and smaller ones."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, Rule, Seen, View, above
from nearpeak.findings.settings import EAGER
from nearpeak.findings.sources import GUIDELINES, SHARED_MEMORY, THRESHOLDS
from nearpeak.results.results import Cell

ENDS = 2  # that have a buffer in a cache


def find(view: View) -> Iterator[Seen]:
    """Every figure beside that of the next smaller size of its curve that divides it."""
    for curve in view.curves:
        for place, whole in enumerate(curve):
            smaller = (part for part in reversed(curve[:place]) if _divides(part, whole))
            part = next(smaller, None)
            if part is None or part.lies_in != whole.lies_in or not _is_sure(view, whole):
                continue  # what is cut from bytes in memory does not lie in a cache
            if whole.unit in ("us", "GB/s"):
                # So many parts take the time of the whole; of a rate it is that of any number.
                parts = float(whole.case.x // part.case.x) if whole.unit == "us" else 1.0
                if found := above(view, whole, part, WORTH, parts):
                    yield found


def _is_sure(view: View, whole: Cell) -> bool:
    """Whether it is known that its bytes lie where those of the smaller ones do. A cache that is
    shared, on a virtual machine by others too, may not have room for two buffers."""
    if whole.lies_in != "shared cache":
        return whole.lies_in is not None
    machine = view.observations.machine
    last = max((cache.level for cache in machine.caches), default=0)
    room = min((cache.size_bytes for cache in machine.caches if cache.level == last), default=0)
    return not machine.virtual and 2 * ENDS * whole.case.x <= room


def _divides(part: Cell, whole: Cell) -> bool:
    return part.case.x > 0 and whole.case.x % part.case.x == 0


RULE = Rule(
    name="parts",
    tells=f"An operation takes more than {WORTH:g} times as long as equal parts of it, one after"
    " the other, by the time of the next smaller size that was measured and divides it (a rate:"
    " that of the smaller size is so many times higher), beyond what the ceilings of both explain."
    " Only where it is known that the bytes of both lie in the same caches, or in memory: in a"
    " cache that cores share, of at most a quarter of it, and not on a virtual machine.",
    find=find,
    remedy="Send such messages in parts, or change the size of the pieces in which the library"
    " moves them, or its threshold.",
    settings=[EAGER],
    sources=[GUIDELINES, SHARED_MEMORY, THRESHOLDS],
)
