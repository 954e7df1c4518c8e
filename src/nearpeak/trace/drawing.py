# SPDX-License-Identifier: Apache-2.0
"""Drawings of the time of a traced application: bars of operations, and all ranks side by side."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from markupsafe import Markup

from nearpeak.document.lanes import lanes
from nearpeak.numbers import number
from nearpeak.trace.trace import Ceiling, Entry, Rank, Trace
from nearpeak.trace.wording import label

SHOWN = 20  # operations: those that took longest; the table has all
NAMED = 512  # most ranks for a title on each of them
LONGEST = 80.0  # percent of a lane; behind the bar is its time
HEIGHT = 100.0  # of the drawing of ranks, in its own unit
KINDS = ("own", "call", "wait")  # of a rank's time, from below
STYLE = """
.path, i.path { fill: var(--c2); background: var(--c2); }
.call, i.call { fill: var(--c0); background: var(--c0); }
.wait, i.wait { fill: var(--c4); background: var(--c4); }
.own, i.own { fill: var(--rule); background: var(--rule); }
.bars .lane { display: flex; align-items: center; white-space: nowrap; }
.bars .lane i { height: .8rem; min-width: 1px; }
.bars .lane i:last-of-type { margin-right: .5rem; }
svg.ranks {
  display: block; width: 100%; height: 12rem; background: var(--sunken);
  shape-rendering: crispEdges;
}
.ends { display: flex; justify-content: space-between; color: var(--muted); font-size: .8rem; }
"""
_PART = Markup('<i class="{}" style="width:{:.2f}%" title="{}"></i>')
_BOXES = Markup('<path class="{}" d="{}"/>')
_COLUMN = Markup(
    f'<rect x="{{}}" y="0" width="1" height="{HEIGHT:g}" fill="none" pointer-events="all">'
    "<title>{}</title></rect>"
)
_RANKS = Markup(
    f'<svg class="ranks" viewBox="0 0 {{}} {HEIGHT:g}" preserveAspectRatio="none" role="img"'
    ' aria-label="The time of each rank outside of MPI, in calls that move or begin something, and'
    ' in others">{}{}</svg><div class="ends"><span>rank {}</span>{}</div>'
)
_END = Markup("<span>rank {}</span>")


def operations(trace: Trace) -> Markup:
    """Draws a bar for each of the longest operations; the time of the path without MPI is a
    separate part."""
    longest = max((entry.seconds for entry in trace.entries), default=0.0)
    if not longest:
        return Markup("")
    ceilings = trace.by_entry
    bars = [
        (label(entry), _bar(entry, ceilings.get(place), longest))
        for place, entry in enumerate(trace.entries[:SHOWN])
    ]
    return lanes("bars", "Time in each operation", bars)


def _bar(entry: Entry, ceiling: Ceiling | None, longest: float) -> Markup:
    title = f"{label(entry)}: {number(entry.seconds)} s in {entry.calls} calls"
    parts = [("wait" if entry.waits else "call", entry.seconds)]
    if ceiling is not None:
        needed = max(0.0, entry.seconds - ceiling.saved_seconds)
        title += f"; the path needs {number(needed)} s"
        parts = [("path", needed), ("call", ceiling.saved_seconds)]
    drawn = [_PART.format(kind, LONGEST * part / longest, title) for kind, part in parts]
    return Markup("").join([*drawn, f"{number(entry.seconds)} s"])


def ranks(traced: Sequence[Rank]) -> Markup:
    """Draws each rank as a column, from MPI_Init to MPI_Finalize.

    Its parts: outside of MPI, in calls that move or begin something, in calls that move nothing.
    Several threads of a rank are drawn as their mean.
    """
    longest = max((rank.run_seconds for rank in traced), default=0.0)
    if not longest:
        return Markup("")
    boxes = [
        _BOXES.format(kind, "".join(_boxes(traced, which, longest)))
        for which, kind in enumerate(KINDS)
    ]
    titles = [
        _COLUMN.format(place, _title(rank))
        for place, rank in enumerate(traced)
        if len(traced) <= NAMED
    ]
    join, last = Markup("").join, [_END.format(rank.rank) for rank in traced[1:][-1:]]
    return _RANKS.format(len(traced), join(boxes), join(titles), traced[0].rank, join(last))


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
        top = HEIGHT * (1 - list(accumulate(parts))[which] / longest)
        if height > 0:
            yield f"M{place} {top:.3f}h1v{height:.3f}h-1z"


def _title(rank: Rank) -> str:
    outside, call, wait = map(number, _seconds(rank))
    return (
        f"rank {rank.rank} on {rank.host}: {outside} s outside of MPI, {call} s in calls that move"
        f" or begin something, {wait} s in others"
    )
