# SPDX-License-Identifier: Apache-2.0
"""Drawings of the time of a traced application: bars of operations, and all ranks side by side."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from markupsafe import Markup

from nearpeak.numbers import number
from nearpeak.report.traced.words import name, size_class
from nearpeak.trace.trace import Ceiling, Entry, Rank, Trace

SHOWN = 20  # operations: those that took longest; the table has all
NAMED = 512  # most ranks for a title on each of them
HEIGHT = 100.0  # of the drawing of ranks, in its own unit


class Part(NamedTuple):
    """A part of a bar."""

    kind: str  # CSS class: "path", "call" or "wait"
    share: float  # of the longest bar


class Bar(NamedTuple):
    """The bar of one operation."""

    label: str
    seconds: float
    parts: list[Part]
    words: str  # under the pointer


def operations(trace: Trace) -> list[Bar]:
    """The bars of the longest operations; the time of the path without MPI is a separate part."""
    longest = max((entry.seconds for entry in trace.entries), default=0.0)
    ceilings = trace.by_entry
    return [
        Bar(_label(entry), entry.seconds, *_parts(entry, ceilings.get(place), longest))
        for place, entry in enumerate(trace.entries[:SHOWN])
        if longest > 0
    ]


def _label(entry: Entry) -> str:
    """`MPI_Send 64 KiB, device, same host`."""
    details: list[str] = (
        [] if entry.size_bytes is None or entry.memory == "host" else [entry.memory]
    )
    details += [] if entry.peer == "none" else [entry.peer]
    return ", ".join([f"{name(entry)} {size_class(entry.size_bytes)}".rstrip(), *details])


def _parts(entry: Entry, ceiling: Ceiling | None, longest: float) -> tuple[list[Part], str]:
    text = f"{_label(entry)}: {number(entry.seconds)} s in {entry.calls} calls"
    if ceiling is None:
        kind = "wait" if entry.waits else "call"
        return [Part(kind, entry.seconds / longest)], text
    needed = max(0.0, entry.seconds - ceiling.saved_seconds)
    parts = [Part("path", needed / longest), Part("call", ceiling.saved_seconds / longest)]
    return parts, f"{text}; the path needs {number(needed)} s"


def ranks(traced: Sequence[Rank]) -> Markup:
    """Draws each rank as a column, from MPI_Init to MPI_Finalize.

    Its parts: outside of MPI, in calls that move or begin something, in calls that move nothing.
    Several threads of a rank are drawn as their mean.
    """
    longest = max((rank.run_seconds for rank in traced), default=0.0)
    if not longest:
        return Markup("")
    drawn = "".join(
        f'<path class="{kind}" d="{"".join(_boxes(traced, number_of, longest))}"/>'
        for number_of, kind in enumerate(("own", "call", "wait"))
    )
    names = "".join(
        f'<rect x="{place}" y="0" width="1" height="{HEIGHT:g}" fill="none" pointer-events="all">'
        f"<title>{escape(_rank_title(rank))}</title></rect>"
        for place, rank in enumerate(traced[: NAMED if len(traced) <= NAMED else 0])
    )
    return Markup(
        f'<svg class="ranks" viewBox="0 0 {len(traced)} {HEIGHT:g}" preserveAspectRatio="none"'
        ' role="img" aria-label="The time of each rank outside of MPI, in calls that move or begin'
        ' something, and in others">'
        f"{drawn}{names}</svg>"
    )


def _seconds(rank: Rank) -> tuple[float, float, float]:
    """The seconds outside of MPI, in calls that move or begin something, in other calls."""
    threads = max(1, rank.threads)
    waiting = min(rank.waiting_seconds / threads, rank.run_seconds)
    in_mpi = min(rank.mpi_seconds / threads, rank.run_seconds)
    return rank.run_seconds - in_mpi, max(0.0, in_mpi - waiting), waiting


def _boxes(traced: Sequence[Rank], which: int, longest: float) -> Iterator[str]:
    for place, rank in enumerate(traced):
        parts = _seconds(rank)
        height = HEIGHT * parts[which] / longest
        top = HEIGHT * (1 - sum(parts[: which + 1]) / longest)
        if height > 0:
            yield f"M{place} {top:.3f}h1v{height:.3f}h-1z"


def _rank_title(rank: Rank) -> str:
    outside, call, wait = _seconds(rank)
    return (
        f"rank {rank.rank} on {rank.host}: {number(outside)} s outside of MPI, {number(call)} s in"
        f" calls that move or begin something, {number(wait)} s in others"
    )
