# SPDX-License-Identifier: Apache-2.0
"""A traced application as a document: where its MPI time goes."""

import shlex
from collections.abc import Iterator

from nearpeak.document.model import (
    Block,
    Code,
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
    Tone,
    Value,
)
from nearpeak.document.templates import moment
from nearpeak.numbers import count, number
from nearpeak.trace import drawing, wording
from nearpeak.trace.trace import Rank, Trace

MOST = 5  # operations in the answer
MANY = 16  # ranks: of more, the page folds the table
_CALLS = Column("calls", "Calls")
_TIME, _OF_MPI = Column("seconds", "Time", "s"), Column("of_mpi", "of MPI", "%")
_MEAN = Column("mean", "Mean", "µs")
LONGEST = [_CALLS, _TIME, _OF_MPI, _MEAN]
OPERATIONS = [
    _CALLS,
    Column("bytes", "Bytes"),
    _TIME,
    _OF_MPI,
    Column("of_run", "of run", "%"),
    _MEAN,
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


def present(trace: Trace, tune: str = "") -> Document:
    """The whole trace; its answer has the operations that take longest. `tune`: the command that
    searches settings for what is in the trace; empty where that was not written."""
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
            Section("", list(_answer(trace, tune)), "found"),
            Section("By operation", list(_operations(trace)), "operations", "details"),
            Section("By rank", list(_ranks(trace)), "ranks", "details"),
        ],
        footer="Made by `nearpeak trace`; docs/how-to/trace.md says what each figure is.",
        style=f"{drawing.STYLE}\ntbody th.name {{ min-width: 9rem; }}",
    )


def _answer(trace: Trace, tune: str) -> Iterator[Block]:
    problems = wording.problems(trace)
    tone: Tone = "bad" if problems else ""
    yield Prose(f"{wording.conclusion(trace)}.", tone, strong=True)
    for problem in problems:
        yield Notice(problem, tone="bad")
    if not trace.entries:
        return
    columns = LONGEST + CEILINGS if trace.ceilings else LONGEST
    rows = [_operation(trace, place) for place in range(len(trace.entries[:MOST]))]
    rest = wording.rest(trace.entries[MOST:])
    yield Table("", rest, "operation", columns, [Rows("", rows)], heads=True, compact=True)
    yield from map(Prose, wording.savings(trace))
    if tune:
        yield Code(tune, "To search for settings that make it faster:", "")


def _operations(trace: Trace) -> Iterator[Block]:
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
    rows = [_operation(trace, place) for place in range(total)]
    columns = OPERATIONS + CEILINGS if trace.ceilings else OPERATIONS
    yield Table("", wording.WAITING, "Operation", columns, [Rows("", rows)], heads=True)


def _operation(trace: Trace, place: int) -> Row:
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
    return Row(wording.label(entry), values)


def _ranks(trace: Trace) -> Iterator[Block]:
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
    folded = f"All {count(len(ranks), 'rank')}" if len(ranks) > MANY else ""
    rows = list(map(_rank, ranks))
    yield Table("", "", "Rank", RANKS, [Rows("", rows)], folded=folded, heads=True)


def _rank(rank: Rank) -> Row:
    values = {
        "host": Value(rank.host, "text"),
        "run": Value(rank.run_seconds),
        "mpi": Value(rank.mpi_seconds),
        "of_run": Value(wording.share_of(rank.mpi_seconds, rank.run_seconds), "percent"),
        "waiting": Value(rank.waiting_seconds),
        "calls": Value(rank.calls, "count"),
        "bytes": Value(rank.bytes, "count"),
    }
    return Row(str(rank.rank), values)
