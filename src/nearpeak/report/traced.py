# SPDX-License-Identifier: Apache-2.0
"""The table of a traced application on the terminal."""

import statistics
import sys
from collections.abc import Callable, Sequence

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.numbers import NOTHING, count, number, percent, size
from nearpeak.trace.trace import Ceiling, Entry, Rank, Trace, Unblocked

WIDTH_OF_A_FILE = 200  # columns, where output is no terminal
SHOWN = 25  # rows
RANKS_SHOWN = 16
WAITING = (
    "Times of operations are sums over all ranks. The time of a call includes waiting for the other"
    " rank."
)


def print_trace(trace: Trace, *, show_all: bool = False) -> None:
    """How long the ranks ran, how much of that was MPI, and for what."""
    console = PlainConsole(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
    ranks = count(len(trace.ranks), "rank")
    hosts = count(len({one.host for one in trace.ranks}), "host")
    share = percent(_of(trace.mpi_seconds, trace.run_seconds))
    console.print(
        f"\n{trace.library}: {ranks} on {hosts}. The run took {number(trace.wall_seconds)} s;"
        f" added up over ranks {number(trace.run_seconds)} s, of these"
        f" {number(trace.mpi_seconds)} s in MPI ({share} %)",
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
    if len(trace.ranks) > 1:
        ranks_shown = trace.ranks if show_all else _outermost(trace.ranks)
        console.print()
        console.print(_ranks(ranks_shown))
        if len(trace.ranks) > len(ranks_shown):
            between = len(trace.ranks) - len(ranks_shown)
            console.print(f"... and {count(between, 'rank')} between these: see --all")
        for line in outstanding(trace.ranks) if trace.expected > 1 else []:
            console.print(line)
        console.print()
    if trace.ceilings:
        saved = sum(one.saved_seconds for one in trace.ceilings)
        console.print(
            f"If each message with a ceiling took no longer than that, at most {number(saved)} s"
            " would be saved."
        )
    if trace.unblocked:
        console.print(_told(trace.unblocked, _outside(trace)))
    console.print(WAITING, style="dim")


def _outside(trace: Trace) -> float:
    """Seconds that all ranks together were outside of MPI, those of which it is known."""
    return sum(one.own_seconds or 0.0 for one in trace.ranks)


def _told(found: Unblocked, outside_seconds: float) -> str:
    """`20 messages by calls that do not wait: 0.20 s in these calls ...`."""
    others = (
        f" {count(found.others, 'other operation')} are in that time too." if found.others else ""
    )
    known = f"{found.known} of them" if found.known < found.messages else "them"
    longer = found.least_seconds - found.seconds
    if longer <= 0:
        so = f"at most {number(found.saved_seconds)} s would be saved."
    elif longer <= outside_seconds:
        so = "they went on beside the application's own work."
    else:
        so = (
            "this ceiling says nothing of them: it is of one direction at a time and of a buffer"
            " for each message."
        )
    return (
        f"{count(found.messages, 'message')} by calls that do not wait:"
        f" {number(found.seconds)} s in these calls and in waiting for them.{others}"
        f" Without MPI the path carries {known} in {number(found.least_seconds)} s, so {so}"
    )


def problems(trace: Trace) -> list[str]:
    """What is missing, and what to do about it."""
    found = []
    if trace.exit_status:
        found.append(
            f"The command ended with exit status {trace.exit_status}: below is what it did before"
        )
    if trace.missing:
        hosts = ", ".join(sorted({one.host for one in trace.ranks}))
        found.append(
            f"No counts of {_numbers(trace.missing)} of {trace.expected}: all that is shown is of"
            f" ranks on {hosts}. Other hosts need the folder that TMPDIR names and Nearpeak's cache"
            " at the same place; where Open MPI's launcher has options -x, add `-x LD_PRELOAD"
            " -x NEARPEAK_TRACE` (docs/trace.md)"
        )
    alone = [one for one in trace.ranks if one.world == 1]
    if len(alone) > 1:
        launched = max(one.launched for one in alone)
        found.append(
            f"{len(alone)} processes ran, each as the only rank of its own MPI_COMM_WORLD"
            + (
                f", though the launcher says that it started {launched} ranks: it is not the"
                f" launcher of {trace.library}"
                if launched > 1
                else ": if they belong together, their launcher is another library's"
            )
        )
    if early := sum(not one.finalized for one in trace.ranks):
        found.append(f"{count(early, 'rank')} did not come to MPI_Finalize")
    if lost := sum(one.lost for one in trace.ranks):
        found.append(
            f"{count(lost, 'call')} were not counted: of too many threads, or TMPDIR is full"
        )
    return found


def _numbers(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0, 2 to 5`."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    texts = [str(one[0]) if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in runs]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(texts)}"


def outstanding(ranks: Sequence[Rank]) -> list[str]:
    """Which rank had the most of what."""
    found = []
    if all(one.own_seconds is not None for one in ranks):
        most = _most(ranks, lambda one: one.own_seconds or 0.0, _seconds)
        found.append(
            f"Most loaded is {most[0]}: outside of MPI {most[1]}. Others may have waited for it."
            if most
            else f"Outside of MPI: {_seconds(ranks[0].own_seconds or 0.0)} on each rank."
        )
    most = _most(ranks, lambda one: one.mpi_seconds, _seconds)
    found.append(
        f"Longest in MPI is {most[0]}: {most[1]}."
        if most
        else f"In MPI: {_seconds(ranks[0].mpi_seconds)} on each rank."
    )
    if any(one.bytes for one in ranks):
        most = _most(ranks, lambda one: one.bytes, _bytes)
        found.append(
            f"Most bytes has {most[0]}: {most[1]}."
            if most
            else f"Bytes: {_bytes(ranks[0].bytes)} on each rank."
        )
    return found


def _most(
    ranks: Sequence[Rank], of: Callable[[Rank], float], text: Callable[[float], str]
) -> tuple[str, str] | None:
    """Who has the most, and how much; None where all have the same figure."""
    if len({text(of(one)) for one in ranks}) == 1:
        return None
    first = max(ranks, key=of)
    middle = statistics.median(of(one) for one in ranks)
    return (
        f"rank {first.rank} on {first.host}",
        f"{text(of(first))}, the median of ranks {text(middle)}",
    )


def _seconds(value: float) -> str:
    return f"{number(value)} s"


def _bytes(value: float) -> str:
    return f"{value:.0f} B"


def _outermost(ranks: Sequence[Rank]) -> list[Rank]:
    """Where there are many, those with the least time in MPI and with the most."""
    if len(ranks) <= RANKS_SHOWN:
        return list(ranks)
    order = sorted(ranks, key=lambda one: one.mpi_seconds)
    half = RANKS_SHOWN // 2
    return sorted([*order[:half], *order[-half:]], key=lambda one: (one.rank, one.process))


def _ranks(ranks: Sequence[Rank]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("Rank", justify="right")
    table.add_column("Host")
    for heading in ("Run s", "MPI s", "% of run", "Waiting s", "Calls", "Bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in ranks:
        table.add_row(
            str(one.rank),
            one.host,
            number(one.run_seconds),
            number(one.mpi_seconds),
            percent(_of(one.mpi_seconds, one.run_seconds)),
            number(one.waiting_seconds),
            str(one.calls),
            str(one.bytes),
        )
    return table


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
    rate = _of(entry.bytes, entry.seconds) if entry.bytes and not entry.begins else None
    return [
        f"{entry.operation} ({entry.made_by})" if entry.made_by else entry.operation,
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
