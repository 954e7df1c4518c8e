# SPDX-License-Identifier: Apache-2.0
"""One-sided operations slower than messages with the same bytes."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Rule, Seen, View, against
from nearpeak.findings.sources import issue
from nearpeak.terms.axes import state_of
from nearpeak.terms.buffers import turned

LIMIT = 1.5  # times slower; twice that of a time, which holds the acknowledgement too


def find(view: View) -> Iterator[Seen]:
    """Every operation beside the messages that bound it, in the direction of its data."""
    for cell in view.unstaged:
        benchmark = view.benchmarks[cell.case.benchmark]
        if benchmark.one_sided is None or benchmark.bound_by is None:
            continue
        buffers = cell.case.buffers
        moved = turned(buffers) if benchmark.one_sided == "get" else buffers
        limit = 2 * LIMIT if cell.unit == "us" else LIMIT
        for other in view.beside(cell, benchmark.bound_by, moved):
            if state_of(other.case.axes) != state_of(cell.case.axes) or other.unit != cell.unit:
                continue
            if found := against(cell, other, limit):
                yield Seen(cell, other, found)


RULE = Rule(
    name="one_sided",
    tells=f"A rate of puts or gets is more than {LIMIT:g} times worse than that of messages, or one"
    f" of them takes more than {2 * LIMIT:g} times as long as a message: it must be acknowledged.",
    find=find,
    remedy="Send messages instead, or try other windows and synchronisation (`win`, `sync`).",
    axes=["win", "sync"],
    sources=[
        issue("open-mpi/ompi", 8652, "MPI_Put far below MPI_Send", "Open MPI"),
        issue("open-mpi/ompi", 10573, "MPI_Get at a fraction of point-to-point", "Open MPI"),
    ],
)
