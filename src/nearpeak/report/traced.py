# SPDX-License-Identifier: Apache-2.0
"""The table of a traced application on the terminal."""

import statistics
from collections.abc import Callable, Sequence

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.numbers import NOTHING, count, number, percent, size
from nearpeak.trace.trace import Ceiling, Entry, Rank, Trace, Unblocked

SHOWN = 25  # rows
SPAWNS = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")
RANKS_SHOWN = 16
WAITING = (
    "Times of operations are sums over all ranks. The time of a call includes waiting for the other"
    " rank."
)


def print_trace(trace: Trace, *, show_all: bool = False) -> None:
    """How long the ranks ran, how much of that was MPI, and for what."""
    console = PlainConsole()
    ranks = count(len(trace.ranks), "rank")
    hosts = count(len({rank.host for rank in trace.ranks}), "host")
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
        seconds = sum(entry.seconds for entry in rest)
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
        saved = sum(ceiling.saved_seconds for ceiling in trace.ceilings)
        console.print(
            f"If each message with a ceiling took no longer than that, at most {number(saved)} s"
            " would be saved."
        )
    if trace.unblocked:
        console.print(_told(trace.unblocked, _outside(trace)))
    console.print(WAITING, style="dim")


def _outside(trace: Trace) -> float:
    """Seconds that all ranks together were outside of MPI, those of which it is known."""
    return sum(rank.own_seconds or 0.0 for rank in trace.ranks)


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
        hosts = ", ".join(sorted({rank.host for rank in trace.ranks}))
        found.append(
            f"No counts of {_numbers(trace.missing)} of {trace.expected}: all that is shown is of"
            f" ranks on {hosts}. Other hosts need the folder that TMPDIR names and Nearpeak's cache"
            " at the same place; where Open MPI's launcher has options -x, add `-x LD_PRELOAD"
            " -x NEARPEAK_TRACE` (docs/trace.md)"
        )
    alone = [rank for rank in trace.ranks if rank.world == 1]
    spawned = any(entry.operation in SPAWNS for entry in trace.entries)
    if len(alone) > 1 and not spawned:  # what is spawned has a world of its own
        launched = max(rank.launched for rank in alone)
        found.append(
            f"{len(alone)} processes ran, each as the only rank of its own MPI_COMM_WORLD"
            + (
                f", though the launcher says that it started {launched} ranks: it is not the"
                f" launcher of {trace.library}"
                if launched > 1
                else ": if they belong together, their launcher is another library's"
            )
        )
    if early := sum(not rank.finalized for rank in trace.ranks):
        found.append(f"{count(early, 'rank')} did not come to MPI_Finalize")
    if lost := sum(rank.lost for rank in trace.ranks):
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
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(texts)}"


def outstanding(ranks: Sequence[Rank]) -> list[str]:
    """Which rank had the most of what."""
    found = []
    if all(rank.own_seconds is not None for rank in ranks):
        most = _most(ranks, lambda rank: rank.own_seconds or 0.0, _seconds)
        found.append(
            f"Most loaded is {most[0]}: outside of MPI {most[1]}. Others may have waited for it."
            if most
            else f"Outside of MPI: {_seconds(ranks[0].own_seconds or 0.0)} on each rank."
        )
    most = _most(ranks, lambda rank: rank.mpi_seconds, _seconds)
    found.append(
        f"Longest in MPI is {most[0]}: {most[1]}."
        if most
        else f"In MPI: {_seconds(ranks[0].mpi_seconds)} on each rank."
    )
    if any(rank.bytes for rank in ranks):
        most = _most(ranks, lambda rank: rank.bytes, _bytes)
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
    if len({text(of(rank)) for rank in ranks}) == 1:
        return None
    first = max(ranks, key=of)
    middle = statistics.median(of(rank) for rank in ranks)
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
    order = sorted(ranks, key=lambda rank: rank.mpi_seconds)
    half = RANKS_SHOWN // 2
    return sorted([*order[:half], *order[-half:]], key=lambda rank: (rank.rank, rank.process))


def _ranks(ranks: Sequence[Rank]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("Rank", justify="right")
    table.add_column("Host")
    for heading in ("Run s", "MPI s", "% of run", "Waiting s", "Calls", "Bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for rank in ranks:
        table.add_row(
            str(rank.rank),
            rank.host,
            number(rank.run_seconds),
            number(rank.mpi_seconds),
            percent(_of(rank.mpi_seconds, rank.run_seconds)),
            number(rank.waiting_seconds),
            str(rank.calls),
            str(rank.bytes),
        )
    return table


def _of(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _table(trace: Trace, entries: list[Entry]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("Operation", "Size", "Memory", "Peer"):
        table.add_column(heading)
    figures = ["Calls", "Bytes", "Time s", "% of MPI", "% of run", "Mean µs", "Longest µs", "GB/s"]
    ceilings = {ceiling.entry: ceiling for ceiling in trace.ceilings}
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
