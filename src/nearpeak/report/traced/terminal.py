# SPDX-License-Identifier: Apache-2.0
"""A traced application on the terminal."""

from collections.abc import Sequence

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.numbers import NOTHING, count, number, percent
from nearpeak.report.traced.words import (
    WAITING,
    name,
    outstanding,
    problems,
    rate,
    savings,
    share_of,
    size_class,
    summary,
)
from nearpeak.trace.trace import Ceiling, Entry, Rank, Trace

SHOWN = 25  # rows
RANKS_SHOWN = 16


def print_trace(trace: Trace, *, show_all: bool = False) -> None:
    """Prints the run time of the ranks, the share of MPI, and its operations."""
    console = PlainConsole()
    console.print(f"\n{summary(trace)}", style="bold")
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
    for line in savings(trace):
        console.print(line)
    console.print(WAITING, style="dim")


def _outermost(ranks: Sequence[Rank]) -> list[Rank]:
    """The ranks with the least and the most time in MPI, if there are many; else all."""
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
            percent(share_of(rank.mpi_seconds, rank.run_seconds)),
            number(rank.waiting_seconds),
            str(rank.calls),
            str(rank.bytes),
        )
    return table


def _table(trace: Trace, entries: list[Entry]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("Operation", "Size", "Memory", "Peer"):
        table.add_column(heading)
    figures = ["Calls", "Bytes", "Time s", "% of MPI", "% of run", "Mean µs", "Longest µs", "GB/s"]
    ceilings = trace.by_entry
    if ceilings:
        figures += ["Ceiling µs", "Saved s"]
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    for place, entry in enumerate(entries):
        row = _row(trace, entry)
        if ceilings:
            row += _ceiling_columns(ceilings.get(place))
        table.add_row(*row)
    return table


def _row(trace: Trace, entry: Entry) -> list[str]:
    reached = rate(entry)
    return [
        name(entry),
        size_class(entry.size_bytes),
        "" if entry.size_bytes is None else entry.memory,
        "" if entry.peer == "none" else entry.peer,
        str(entry.calls),
        str(entry.bytes) if entry.size_bytes is not None else "",
        number(entry.seconds),
        percent(share_of(entry.seconds, trace.mpi_seconds)),
        percent(share_of(entry.seconds, trace.run_seconds)),
        number(1e6 * entry.mean_seconds),
        number(1e6 * entry.longest_seconds),
        "" if reached is None else number(reached),
    ]


def _ceiling_columns(ceiling: Ceiling | None) -> list[str]:
    if ceiling is None:
        return [NOTHING, NOTHING]
    return [number(1e6 * ceiling.seconds), number(ceiling.saved_seconds)]
