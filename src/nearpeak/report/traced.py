# SPDX-License-Identifier: Apache-2.0
"""The table of a traced application on the terminal."""

import sys

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.numbers import NOTHING, count, number, percent, size
from nearpeak.trace.model import Ceiling, Entry, Trace, Unblocked

WIDTH_OF_A_FILE = 200  # columns, where output is no terminal
SHOWN = 25  # rows
WAITING = (
    "All times are sums over all ranks. The time of a call includes waiting for the other rank."
)


def print_trace(trace: Trace, *, show_all: bool = False) -> None:
    """How long the ranks ran, how much of that was MPI, and for what."""
    console = PlainConsole(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
    ranks = count(len(trace.ranks), "rank")
    share = percent(_of(trace.mpi_seconds, trace.run_seconds))
    console.print(
        f"\n{trace.library}: {ranks} ran {number(trace.run_seconds)} s in all,"
        f" {number(trace.mpi_seconds)} s of these in MPI ({share} %)",
        style="bold",
    )
    for line in problems(trace):
        console.print(line, style="bold red")
    shown = trace.entries if show_all else trace.entries[:SHOWN]
    if shown:
        console.print(_table(trace, shown))
    if len(trace.entries) > len(shown):
        rest = trace.entries[len(shown) :]
        seconds = sum(one.seconds for one in rest)
        console.print(f"... and {count(len(rest), 'row')} of {number(seconds)} s: see --all")
    if trace.ceilings:
        saved = sum(one.saved_seconds for one in trace.ceilings)
        console.print(
            f"If each message with a ceiling took no longer than that, at most {number(saved)} s"
            " would be saved."
        )
    if trace.unblocked:
        console.print(_told(trace.unblocked))
    console.print(WAITING, style="dim")


def _told(found: Unblocked) -> str:
    """`20 messages by calls that do not wait: 0.20 s in these calls ...`."""
    others = (
        f" {count(found.others, 'other operation')} are in that time too." if found.others else ""
    )
    known = f"{found.known} of them" if found.known < found.messages else "them"
    beside = found.least_seconds > found.seconds
    return (
        f"{count(found.messages, 'message')} by calls that do not wait:"
        f" {number(found.seconds)} s in these calls and in waiting for them.{others}"
        f" Without MPI the path carries {known} in {number(found.least_seconds)} s, so "
        + (
            "they went on beside the application's own work."
            if beside
            else f"at most {number(found.saved_seconds)} s would be saved."
        )
    )


def problems(trace: Trace) -> list[str]:
    """What is missing."""
    found = []
    if trace.exit_status:
        found.append(
            f"The command ended with exit status {trace.exit_status}: below is what it did before"
        )
    if missing := trace.expected - len({one.rank for one in trace.ranks}):
        found.append(
            f"{count(missing, 'rank')} of {trace.expected} left nothing: see docs/trace.md"
        )
    if early := sum(not one.finalized for one in trace.ranks):
        found.append(f"{count(early, 'rank')} did not come to MPI_Finalize")
    if lost := sum(one.lost for one in trace.ranks):
        found.append(f"{count(lost, 'call')} of too many threads were not counted")
    return found


def _of(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _table(trace: Trace, entries: list[Entry]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("Operation", "Size", "Memory", "Peer"):
        table.add_column(heading)
    figures = ["Calls", "Bytes", "Time s", "% of MPI", "% of run", "Mean µs", "Longest µs", "GB/s"]
    ceilings = {one.entry: one for one in trace.ceilings}
    if ceilings:
        figures += ["Ceiling µs", "Saved s"]
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    for place, entry in enumerate(entries):
        row = _row(trace, entry)
        if ceilings:
            row += _beside(ceilings.get(place))
        table.add_row(*row)
    return table


def _row(trace: Trace, entry: Entry) -> list[str]:
    rate = _of(entry.bytes, entry.seconds) if entry.bytes else None
    return [
        entry.operation,
        size_class(entry.size_bytes),
        "" if entry.size_bytes is None else entry.memory,
        "" if entry.peer == "none" else entry.peer,
        str(entry.calls),
        str(entry.bytes) if entry.size_bytes is not None else "",
        number(entry.seconds),
        percent(_of(entry.seconds, trace.mpi_seconds)),
        percent(_of(entry.seconds, trace.run_seconds)),
        number(1e6 * entry.mean_seconds),
        number(1e6 * entry.longest_seconds),
        "" if rate is None else number(rate / 1e9),
    ]


def _beside(ceiling: Ceiling | None) -> list[str]:
    if ceiling is None:
        return [NOTHING, NOTHING]
    return [number(1e6 * ceiling.seconds), number(ceiling.saved_seconds)]


def size_class(smallest: int | None) -> str:
    """`8 B`: from 8 to 15 bytes; `4 KiB`: to less than 8 KiB."""
    return "" if smallest is None else size(smallest)
