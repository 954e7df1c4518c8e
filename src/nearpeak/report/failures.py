# SPDX-License-Identifier: Apache-2.0
"""The launches that failed, grouped by kind of failure, and the cases that a program left out."""

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.numbers import extent
from nearpeak.results.results import FailureKind, Results, Skip
from nearpeak.terms.outcomes import given_up

_LISTED = 3  # sizes; more than these are shown as a range


def sentences(results: Results) -> list[str]:
    """One for each kind of failure: launches, library, path, status, message and first log."""
    return [_sentence(kind) for kind in results.failure_kinds]


def table(results: Results) -> Table:
    """A row for each kind of failure, with the command that reproduces it."""
    return Table(
        title="Launches that failed.",
        caption=(
            "A row stands for all launches of one library on one path that ended in the same way."
            " Its message, log and command are those of the first. Logs are in the study"
            " folder, beside this page; a copy that was made by `nearpeak publish` has none."
        ),
        head="Library",
        columns=[
            Column("path", "Path", figure=False),
            Column("benchmark", "Benchmark", figure=False),
            Column("status", "Status", figure=False),
            Column("launch", "Launch"),
            Column("message", "Message and log", figure=False, long=True),
            Column("command", "Command", figure=False, long=True),
        ],
        groups=_rows([_failed(kind) for kind in results.failure_kinds]),
        empty="None.",
    )


def skipped(results: Results) -> Table:
    """The cases that a program left out, with its reasons."""
    return Table(
        title="Cases that were not measured.",
        caption="What a program left out, and why.",
        head="Library",
        columns=[
            Column("path", "Path", figure=False),
            Column("benchmark", "Benchmark", figure=False),
            Column("sizes", "Sizes", figure=False),
            Column("reason", "Reason", figure=False, long=True),
        ],
        groups=_rows([_skipped(skip) for skip in results.skipped]),
        empty="None.",
    )


def _measuring(kind: FailureKind) -> list[str]:
    """`barrier`, `allreduce of 1 MiB`: the benchmarks that ended, with sizes if known."""
    return [
        end.benchmark if end.x is None else f"{end.benchmark} of {extent(end.x, end.x_unit)}"
        for end in kind.ended_in
    ]


def _message(kind: FailureKind) -> str:
    return kind.message + given_up(kind.given_up_after)


def _sentence(kind: FailureKind) -> str:
    subject = " ".join([kind.who.label, kind.place.path, *_measuring(kind)])
    others = len(kind.launches) - 1
    repeats = f" and {others} more alike" if others else ""
    log = f" ({kind.log})" if kind.log else ""
    return f"launch {kind.first}{repeats}, {subject}: {kind.status}: {_message(kind)}{log}"


def _rows(rows: list[Row]) -> list[Rows]:
    return [Rows("", rows)] if rows else []


def _failed(kind: FailureKind) -> Row:
    others = len(kind.launches) - 1
    launch = Value(
        str(kind.first),
        "text",
        notes=(f"and {others} more",) if others else (),
        hover=f"launches {', '.join(map(str, kind.launches))}" if others else "",
    )
    values = {
        "path": Value(kind.place.path, "text"),
        "benchmark": Value(", ".join(_measuring(kind)), "text"),
        "status": Value(kind.status, "text", tone="bad"),
        "launch": launch,
        "message": Value(_message(kind), "text", notes=(kind.log,) if kind.log else ()),
        "command": Value(kind.command, "command"),
    }
    return Row(kind.who.label, values)


def _skipped(skip: Skip) -> Row:
    many = len(skip.sizes) > _LISTED
    shown = [min(skip.sizes), max(skip.sizes)] if many else skip.sizes
    sizes = (" to " if many else ", ").join(extent(x, skip.x_unit) for x in shown)
    values = {
        "path": Value(skip.place.path, "text"),
        "benchmark": Value(skip.benchmark, "text", detail=skip.method),
        "sizes": Value(sizes, "text"),
        "reason": Value(skip.message, "text"),
    }
    return Row(skip.who.label, values)
