# SPDX-License-Identifier: Apache-2.0
"""The launches that failed, grouped by kind of failure, and the cases that a program left out."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import count, extent, listed
from nearpeak.results.results import FailureKind, Results, Skip
from nearpeak.terms.outcomes import given_up

_LISTED = 3  # sizes; more than these are shown as a range
MOST_LIBRARIES = 3  # with failed launches, named
MOST_PATHS = 2  # of one library
MOST_LETTERS = 48  # of the cause of a failure
LOST, AFTER = " and lost figures", " at the end, after their figures"
EACH = {LOST: "; figures lost", AFTER: " at the end, after their figures", "": ""}


def sentences(results: Results) -> list[str]:
    """One for each kind of failure: launches, library, path, status, message and first log."""
    return [_sentence(kind) for kind in results.failure_kinds]


def by_library(results: Results) -> str:
    """`6 launches failed and lost figures: intel, 6 of 7 on host-gpu near (SIGSEGV)`: the launches
    of each library that failed, of all that it had on that path, with every cause."""
    kinds = results.failure_kinds
    ends = {after_figures(paths) for paths in grouped(kinds, _owner_and_path).values()}
    end = ends.pop() if len(ends) == 1 else None
    libraries = grouped(kinds, lambda kind: kind.who.label)
    names = [f"{name}, {_by_path(mine, apart=end is None)}" for name, mine in libraries.items()]
    if left := len(names[MOST_LIBRARIES:]):
        names[MOST_LIBRARIES:] = [f"{left} more"]
    failed = _together(kinds, end or "")
    return f"{count(_launches(kinds), 'launch')} {failed}: {'; '.join(names)}"


def _together(kinds: Sequence[FailureKind], end: str) -> str:
    """`failed and lost figures`; `crashed at the end, after their figures`."""
    if end != AFTER:
        return f"failed{end}"
    many = _launches(kinds) > 1
    return f"{status(kinds)}{end if many else end.replace('their', 'its')}"


def status(kinds: Iterable[FailureKind]) -> str:
    """The end of launches in a word, `failed` where they differ."""
    statuses = {kind.status for kind in kinds}
    return statuses.pop() if len(statuses) == 1 else "failed"


def after_figures(kinds: Iterable[FailureKind]) -> str:
    """Says if launches lost figures, or failed after all of them; empty if that is not known."""
    lost = [kind.lost for kind in kinds]
    if any(lost):
        return LOST
    return "" if None in lost else AFTER


def _owner_and_path(kind: FailureKind) -> tuple[str, str]:
    return kind.who.label, kind.place.group


def _by_path(kinds: Sequence[FailureKind], *, apart: bool) -> str:
    """The launches on each path; with `apart` also whether they lost figures."""
    paths = grouped(kinds, lambda kind: kind.place.group)
    most = sorted(paths.items(), key=lambda path: -_share(path[1]))
    parts = [
        f"{_launches(group)}{_of(group)} on {path} ({_causes(group)}"
        f"{EACH[after_figures(group)] if apart else ''})"
        for path, group in most[:MOST_PATHS]
    ]
    if left := most[MOST_PATHS:]:
        launches = sum(_launches(group) for _, group in left)
        parts.append(f"{launches} on {count(len(left), 'more path')}")
    return listed(parts)


def _launches(kinds: Iterable[FailureKind]) -> int:
    return sum(len(kind.launches) for kind in kinds)


def _total(kinds: Iterable[FailureKind]) -> int:
    """The launches on the paths of these failures; 0 if not known."""
    return sum({kind.place: kind.of for kind in kinds}.values())


def _share(kinds: Sequence[FailureKind]) -> float:
    return _launches(kinds) / (_total(kinds) or 1)


def _of(kinds: Sequence[FailureKind]) -> str:
    total = _total(kinds)
    return f" of {total}" if total else ""


def _causes(kinds: Iterable[FailureKind]) -> str:
    """`SIGSEGV`; `6 SIGSEGV, 4 exit status 15: Abort`, the most frequent first."""
    launches: Counter[str] = Counter()
    for kind in kinds:
        launches[_cause(kind)] += len(kind.launches)
    if len(launches) == 1:
        return next(iter(launches))
    return ", ".join(f"{many} {cause}" for cause, many in launches.most_common())


def _cause(kind: FailureKind) -> str:
    """`SIGSEGV`, `MPI_Init`, `exit status 15`: of a message, the call that it begins with, and no
    exit status before it."""
    message = re.sub(r"^exit status \d+: ", "", kind.cause) or kind.status
    text = message.split("(")[0].strip()
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS].rsplit(' ', 1)[0]}..."


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
