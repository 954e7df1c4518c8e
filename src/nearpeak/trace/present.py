# SPDX-License-Identifier: Apache-2.0
"""A traced application as a document: where its MPI time goes."""

import shlex
from collections.abc import Iterator, Sequence

from nearpeak.document.model import (
    Block,
    Column,
    Document,
    Drawing,
    Items,
    Notice,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    Value,
)
from nearpeak.document.templates import moment
from nearpeak.numbers import count, number
from nearpeak.trace import drawing, wording
from nearpeak.trace.trace import Rank, Trace

ROWS = 25  # of operations on the terminal
MANY = 16  # ranks: of more, the page folds the table, and the terminal has the outermost
OPERATIONS = [
    Column("calls", "Calls"),
    Column("bytes", "Bytes"),
    Column("seconds", "Time", "s"),
    Column("of_mpi", "of MPI", "%"),
    Column("of_run", "of run", "%"),
    Column("mean", "Mean", "µs"),
    Column("longest", "Longest", "µs"),
    Column("rate", "Rate", "GB/s"),
]
CEILINGS = [Column("ceiling", "Ceiling", "µs"), Column("saved", "Saved", "s")]
RANKS = [
    Column("host", "Host", figure=False),
    Column("run", "Run", "s"),
    Column("mpi", "MPI", "s"),
    Column("of_run", "of run", "%"),
    Column("waiting", "Waiting", "s"),
    Column("calls", "Calls"),
    Column("bytes", "Bytes"),
]
WITHOUT_MPI = ("path", "what the path needs without MPI")
CALLS = [
    ("call", "calls that move or begin something"),
    ("wait", "calls that move nothing, as those that wait"),
]


def present(trace: Trace, *, show_all: bool = False) -> Document:
    """The whole trace; the terminal shows the most important rows, or with `show_all` all."""
    conclusion = wording.conclusion(trace)
    problems = wording.problems(trace)
    answer: list[Block] = [*(Notice(line, tone="bad") for line in problems)]
    answer += map(Prose, wording.savings(trace))
    application = trace.command[0] if trace.command else "an application"
    return Document(
        title=f"Where the MPI time of {application} goes",
        heading="Where does the MPI time go?",
        byline=[
            f"`{shlex.join(trace.command)}`",
            trace.library,
            wording.hosts(trace.ranks),
            moment(trace.started),
            f"Nearpeak {trace.nearpeak}",
        ],
        sections=[
            Section("Result", [Prose(f"{conclusion}.", strong=True), *answer], "found", "page"),
            Section("By operation", list(_operations(trace, show_all)), "operations"),
            Section("By rank", list(_ranks(trace, show_all)), "ranks"),
            Section("", answer, medium="terminal"),
        ],
        conclusion=conclusion,
        bad=bool(problems),
        footer="Made by `nearpeak trace`; docs/trace.md says what each figure is.",
        style=f"{drawing.STYLE}\ntbody th.name {{ min-width: 9rem; }}",
    )


def _operations(trace: Trace, show_all: bool) -> Iterator[Block]:
    if not trace.entries:
        return
    total = len(trace.entries)
    longest = f"; the {drawing.SHOWN} that took longest of {total}"
    yield Drawing(
        drawing.operations(trace),
        "Time in each operation,",
        f"added up over ranks{longest if total > drawing.SHOWN else ''}:",
        [WITHOUT_MPI, *CALLS] if trace.ceilings else CALLS,
    )
    rows = [_operation(trace, place, show_all or place < ROWS) for place in range(total)]
    columns = OPERATIONS + CEILINGS if trace.ceilings else OPERATIONS
    yield Table("", wording.WAITING, "Operation", columns, [Rows("", rows)], heads=True)
    if rest := [] if show_all else trace.entries[ROWS:]:
        seconds = number(sum(entry.seconds for entry in rest))
        yield _hidden(f"{count(len(rest), 'row')} more, of {seconds} s")


def _hidden(rows: str) -> Prose:
    return Prose(f"and {rows}: see --all", "muted", medium="terminal")


def _operation(trace: Trace, place: int, shown: bool) -> Row:
    entry, ceiling = trace.entries[place], trace.by_entry.get(place)
    values = {
        "calls": Value(entry.calls, "count"),
        "seconds": Value(entry.seconds),
        "of_mpi": Value(wording.share_of(entry.seconds, trace.mpi_seconds), "percent"),
        "of_run": Value(wording.share_of(entry.seconds, trace.run_seconds), "percent"),
        "mean": Value(1e6 * entry.mean_seconds),
        "longest": Value(1e6 * entry.longest_seconds),
    }
    if entry.size_bytes is not None:
        values["bytes"] = Value(entry.bytes, "count")
    if entry.bytes and entry.seconds and not entry.begins:
        values["rate"] = Value(entry.bytes / entry.seconds / 1e9)
    if ceiling:
        values["ceiling"] = Value(1e6 * ceiling.seconds)
        values["saved"] = Value(ceiling.saved_seconds)
    return Row(wording.label(entry), values, medium="" if shown else "page")


def _ranks(trace: Trace, show_all: bool) -> Iterator[Block]:
    ranks = trace.ranks
    if not ranks:
        return
    yield Drawing(
        drawing.ranks(ranks),
        "Time of each rank,",
        f"from MPI_Init to MPI_Finalize, {number(trace.wall_seconds)} s high:",
        [("own", "outside of MPI"), *CALLS],
    )
    yield Items(wording.outstanding(ranks) if trace.expected > 1 else [])
    outermost = _outermost(ranks)
    rows = [_rank(rank, show_all or rank in outermost) for rank in ranks]
    folded = f"All {count(len(ranks), 'rank')}" if len(ranks) > MANY else ""
    yield Table("", "", "Rank", RANKS, [Rows("", rows)], folded=folded, heads=True)
    if folded and not show_all:
        yield _hidden(f"{count(len(ranks) - MANY, 'rank')} between these")


def _rank(rank: Rank, shown: bool) -> Row:
    values = {
        "host": Value(rank.host, "text"),
        "run": Value(rank.run_seconds),
        "mpi": Value(rank.mpi_seconds),
        "of_run": Value(wording.share_of(rank.mpi_seconds, rank.run_seconds), "percent"),
        "waiting": Value(rank.waiting_seconds),
        "calls": Value(rank.calls, "count"),
        "bytes": Value(rank.bytes, "count"),
    }
    return Row(str(rank.rank), values, medium="" if shown else "page")


def _outermost(ranks: Sequence[Rank]) -> list[Rank]:
    """The ranks with the least and the most time in MPI; all if they are few."""
    order = sorted(ranks, key=lambda rank: rank.mpi_seconds)
    return [*order[: MANY // 2], *order[-MANY // 2 :]]
