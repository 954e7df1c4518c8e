# SPDX-License-Identifier: Apache-2.0
"""Where the time of a traced application goes, drawn: of operations as bars, of all ranks side by
side."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from markupsafe import Markup

from nearpeak.numbers import number
from nearpeak.report.traced.words import name, size_class
from nearpeak.trace.trace import Ceiling, Entry, Rank, Trace

SHOWN = 20  # operations: those that took longest; the table has all
NAMED = 512  # ranks: of more, none has a name of its own under the pointer
HEIGHT = 100.0  # of the drawing of ranks, in its own unit


class Part(NamedTuple):
    """Of a bar."""

    kind: str  # how it is drawn: "path", "call" or "wait"
    share: float  # of the longest bar


class Bar(NamedTuple):
    """Of one operation."""

    label: str
    seconds: float
    parts: list[Part]
    words: str  # under the pointer


def operations(trace: Trace) -> list[Bar]:
    """Of those that took longest; what a path needs without MPI is a part of its own."""
    longest = max((entry.seconds for entry in trace.entries), default=0.0)
    ceilings = trace.by_entry
    return [
        Bar(_label(entry), entry.seconds, *_parts(entry, ceilings.get(place), longest))
        for place, entry in enumerate(trace.entries[:SHOWN])
        if longest > 0
    ]


def _label(entry: Entry) -> str:
    """`MPI_Send 64 KiB, device, same host`."""
    where: list[str] = [] if entry.size_bytes is None or entry.memory == "host" else [entry.memory]
    where += [] if entry.peer == "none" else [entry.peer]
    return ", ".join([f"{name(entry)} {size_class(entry.size_bytes)}".rstrip(), *where])


def _parts(entry: Entry, ceiling: Ceiling | None, longest: float) -> tuple[list[Part], str]:
    told = f"{_label(entry)}: {number(entry.seconds)} s in {entry.calls} calls"
    if ceiling is None:
        kind = "wait" if entry.waits else "call"
        return [Part(kind, entry.seconds / longest)], told
    needed = max(0.0, entry.seconds - ceiling.saved_seconds)
    parts = [Part("path", needed / longest), Part("call", ceiling.saved_seconds / longest)]
    return parts, f"{told}; the path needs {number(needed)} s"


def ranks(found: Sequence[Rank]) -> Markup:
    """Each rank a column, from MPI_Init to MPI_Finalize: outside of MPI, in calls that move or
    begin something, in calls that move nothing. Of several threads it is their mean."""
    longest = max((rank.run_seconds for rank in found), default=0.0)
    if not longest:
        return Markup("")
    drawn = "".join(
        f'<path class="{kind}" d="{"".join(_boxes(found, number_of, longest))}"/>'
        for number_of, kind in enumerate(("own", "call", "wait"))
    )
    names = "".join(
        f'<rect x="{place}" y="0" width="1" height="{HEIGHT:g}" fill="none" pointer-events="all">'
        f"<title>{escape(_words(rank))}</title></rect>"
        for place, rank in enumerate(found[: NAMED if len(found) <= NAMED else 0])
    )
    return Markup(
        f'<svg class="ranks" viewBox="0 0 {len(found)} {HEIGHT:g}" preserveAspectRatio="none"'
        ' role="img" aria-label="The time of each rank outside of MPI, in calls that move or begin'
        ' something, and in others">'
        f"{drawn}{names}</svg>"
    )


def _seconds(rank: Rank) -> tuple[float, float, float]:
    """Outside of MPI, in calls that move or begin something, in those that move nothing."""
    threads = max(1, rank.threads)
    waiting = min(rank.waiting_seconds / threads, rank.run_seconds)
    in_mpi = min(rank.mpi_seconds / threads, rank.run_seconds)
    return rank.run_seconds - in_mpi, max(0.0, in_mpi - waiting), waiting


def _boxes(found: Sequence[Rank], which: int, longest: float) -> Iterator[str]:
    for place, rank in enumerate(found):
        parts = _seconds(rank)
        height = HEIGHT * parts[which] / longest
        top = HEIGHT * (1 - sum(parts[: which + 1]) / longest)
        if height > 0:
            yield f"M{place} {top:.3f}h1v{height:.3f}h-1z"


def _words(rank: Rank) -> str:
    own, call, wait = _seconds(rank)
    return (
        f"rank {rank.rank} on {rank.host}: {number(own)} s outside of MPI, {number(call)} s in"
        f" calls that move or begin something, {number(wait)} s in others"
    )
