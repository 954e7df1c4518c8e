# SPDX-License-Identifier: Apache-2.0
"""What was not measured: launches that failed, told once where they failed alike, and cases that a
program left out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nearpeak.numbers import extent
from nearpeak.report.sections import Column, Row, Rows, Table, Value
from nearpeak.results.results import Failure, Results, Skip
from nearpeak.terms.identity import Place, Who
from nearpeak.terms.logs import cause
from nearpeak.terms.outcomes import GIVEN_UP

NUMBERS = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)
_LISTED = 3  # sizes that are named one by one


@dataclass(frozen=True)
class Alike:
    """Launches of one library in one place that ended in the same way."""

    first: Failure
    launches: list[int]
    benchmarks: list[str]  # that they were to measure, or what they ended in, in words
    message: str  # the first one's, and that no further one was tried

    @property
    def others(self) -> int:
        """How many there are besides the first."""
        return len(self.launches) - 1


def alike(failures: Sequence[Failure]) -> list[Alike]:
    """The failures by library, place, status and cause, which may differ in its numbers.

    One whose launcher names no cause is of the first with a cause that measured the same.
    """
    found: dict[tuple[Who, Place, str, str], list[Failure]] = {}
    for failure in failures:
        found.setdefault(_key(failure), []).append(failure)
    for key in [key for key in found if not key[-1]]:
        found[key] = [one for one in found[key] if not _joined(one, found)]
    return sorted((_alike(each) for each in found.values() if each), key=lambda one: one.launches)


def _key(failure: Failure) -> tuple[Who, Place, str, str]:
    words, _, _ = failure.message.partition(GIVEN_UP)
    return failure.who, failure.place, failure.status, NUMBERS.sub("#", cause(words))


def _joined(failure: Failure, found: dict[tuple[Who, Place, str, str], list[Failure]]) -> bool:
    """Whether a failure without a cause has found its place in a group that has one."""
    for key, group in found.items():
        same = key[-1] and key[:-1] == _key(failure)[:-1]
        if same and {*failure.benchmarks} & {name for one in group for name in one.benchmarks}:
            group.append(failure)
            return True
    return False


def sentences(failures: Sequence[Failure]) -> list[str]:
    """One for each group: which launches, of whom and where, how they ended, and the first log."""
    return [_sentence(group) for group in alike(failures)]


def table(results: Results) -> Table:
    """A row for each group, with what is needed to see it happen again."""
    return Table(
        title="Launches that failed.",
        caption=(
            "A row stands for all launches of one library on one path that ended in the same way."
            " Its message, log and command are those of the first. The logs are in the study"
            " folder, beside this page."
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
        groups=_rows([_failed(group) for group in alike(results.failures)]),
        empty="None.",
    )


def skipped(results: Results) -> Table:
    """The cases that a program left out, and why."""
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
        groups=_rows([_skipped(one) for one in results.skipped]),
        empty="None.",
    )


def _alike(each: list[Failure]) -> Alike:
    words, _, _ = each[0].message.partition(GIVEN_UP)
    ends = [mark + rest for _, mark, rest in (one.message.partition(GIVEN_UP) for one in each)]
    return Alike(
        first=each[0],
        launches=sorted(one.launch for one in each),
        benchmarks=list(dict.fromkeys(name for one in each for name in _measuring(one))),
        message=words + max(ends, key=len),
    )


def _measuring(one: Failure) -> list[str]:
    """`barrier`, `bcast`; or `allreduce of 1 MiB`, where that is known."""
    if not one.x:
        return one.benchmarks
    return [f"{name} of {extent(one.x, one.x_unit)}" for name in one.benchmarks]


def _sentence(group: Alike) -> str:
    first = group.first
    where = " ".join([first.who.label, first.place.path, *group.benchmarks])
    more = f" and {group.others} more alike" if group.others else ""
    log = f" ({first.log})" if first.log else ""
    return f"launch {first.launch}{more}, {where}: {first.status}: {group.message}{log}"


def _rows(rows: list[Row]) -> list[Rows]:
    return [Rows("", rows)] if rows else []


def _failed(group: Alike) -> Row:
    first = group.first
    launch = Value(
        str(first.launch),
        "text",
        notes=(f"and {group.others} more",) if group.others else (),
        hover=f"launches {', '.join(map(str, group.launches))}" if group.others else "",
    )
    values = {
        "path": Value(first.place.path, "text"),
        "benchmark": Value(", ".join(group.benchmarks), "text"),
        "status": Value(first.status, "text", tone="bad"),
        "launch": launch,
        "message": Value(group.message, "text", notes=(first.log,) if first.log else ()),
        "command": Value(first.command, "command"),
    }
    return Row(first.who.label, values)


def _skipped(skip: Skip) -> Row:
    many = len(skip.sizes) > _LISTED
    told = [min(skip.sizes), max(skip.sizes)] if many else skip.sizes
    sizes = (" to " if many else ", ").join(extent(one, skip.x_unit) for one in told)
    values = {
        "path": Value(skip.place.path, "text"),
        "benchmark": Value(skip.benchmark, "text", detail=skip.method),
        "sizes": Value(sizes, "text"),
        "reason": Value(skip.message, "text"),
    }
    return Row(skip.who.label, values)
