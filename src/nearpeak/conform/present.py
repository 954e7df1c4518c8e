# SPDX-License-Identifier: Apache-2.0
"""A conformance run as a document: what works with which memory."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from nearpeak.conform import wording
from nearpeak.conform.conformance import Conformance, Operation, Tried
from nearpeak.document.model import (
    Block,
    Code,
    Column,
    Document,
    Folded,
    Heading,
    Items,
    Medium,
    Notice,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    Terms,
    Tone,
    Value,
)
from nearpeak.document.templates import moment
from nearpeak.numbers import count, size
from nearpeak.terms.outcomes import GOOD, NOT_TRIED
from nearpeak.terms.trials import Outcome

MOST_FAILURES = 20  # of a library on the terminal; the page has all
MEANINGS = (
    ("ok", "all data arrived right"),
    ("wrong", "some data arrived wrong"),
    ("crashed, hung", "the job did"),
    ("refused", "MPI returned an error"),
    ("leaks", "memory grows while buffers are allocated, used and freed"),
    ("-", "not tried"),
    ("refused 1/4", "the worst end of several cases, and how many of the tried cases had it"),
    ("crashed*", "failed after other cases in one job, but is ok alone"),
    ("H, P, D, M", "host memory, pinned host memory, memory of a device, managed memory"),
)
_GOOD: dict[str, Tone] = {GOOD: "good", NOT_TRIED: "muted", "": "muted"}


def present(conformance: Conformance) -> Document:
    """The whole run; the terminal shows of its tables what does not work."""
    conclusion = wording.conclusion(conformance)
    return Document(
        title=f"MPI conformance on {conformance.host}",
        heading=f"What works with which memory on {conformance.host}?",
        byline=_byline(conformance),
        sections=[
            Section("Result", list(_result(conformance, conclusion)), "found", "page"),
            *(_section(conformance, tried) for tried in conformance.libraries),
        ],
        conclusion=conclusion,
        bad=conformance.failed,
        footer="Made by `nearpeak conform`; docs/conform.md says what each word means.",
        style="table th, table td { padding: .2rem .4rem; }",
    )


def _byline(conformance: Conformance) -> list[str]:
    return [
        moment(conformance.started),
        ", ".join(conformance.gpus),
        conformance.path or "",
        f"driver {conformance.driver}" if conformance.driver else "",
        f"depth {conformance.depth}",
        f"Nearpeak {conformance.nearpeak}",
    ]


def _result(conformance: Conformance, conclusion: str) -> Iterator[Block]:
    yield Notice(f"{conclusion}.", tone="bad" if conformance.failed else "note")
    sizes = ", ".join(map(size, conformance.sizes))
    yield Prose(
        "Each operation was tried between two ranks with buffers in each kind of memory, and every"
        f" byte that arrived was checked. Sizes: {sizes}."
    )
    yield Folded("What the words mean", [Terms(MEANINGS)])
    allocated = [
        (wording.memory_label(memory), memory.summary)
        for memory in conformance.memories
        if memory.summary
    ]
    if allocated:
        yield Folded("How the memory is allocated", [Terms(allocated)])


def _section(conformance: Conformance, tried: Tried) -> Section:
    failures = wording.failures(tried)
    lines = [f"{failure.cases}: {failure.evidence}" for failure in failures]
    ends = list(map(wording.bad_end, tried.bad_ends))
    return Section(
        f"{tried.label} {tried.version}: {wording.totals(tried)}",
        [
            _table(conformance, tried, _broken(conformance, tried), "terminal"),
            _table(conformance, tried, conformance.operations, "page"),
            Items(lines, most=MOST_FAILURES, elsewhere="see the page", medium="terminal"),
            Items(ends, most=len(ends), medium="terminal"),
            *_failures(failures),
            *_bad_ends(tried),
            *_not_tried(tried),
        ],
    )


def _broken(conformance: Conformance, tried: Tried) -> list[Operation]:
    """The operations that do not work in every memory where they were tried."""
    works = {"", GOOD, NOT_TRIED}
    return [
        operation
        for operation in conformance.operations
        if {*_worst(conformance, tried, operation)} - works
    ]


def _worst(conformance: Conformance, tried: Tried, operation: Operation) -> Iterator[str]:
    for memory in conformance.memories:
        yield wording.worst(wording.outcomes_in(tried, operation, memory))


def _table(
    conformance: Conformance, tried: Tried, operations: list[Operation], medium: Medium
) -> Table:
    columns = [
        Column(str(number), wording.memory_label(memory), figure=False)
        for number, memory in enumerate(conformance.memories)
    ]
    families = groupby(operations, attrgetter("family"))
    on_page = medium == "page"
    groups = [
        Rows(family if on_page else "", [_row(conformance, tried, one) for one in members])
        for family, members in (families if on_page else [("", operations)] if operations else [])
    ]
    return Table("", "", "Operation", columns, groups, heads=True, medium=medium)


def _row(conformance: Conformance, tried: Tried, operation: Operation) -> Row:
    values = {
        str(number): _value(wording.outcomes_in(tried, operation, memory))
        for number, memory in enumerate(conformance.memories)
    }
    return Row(operation.name, values, hover=operation.summary)


def _value(outcomes: list[Outcome]) -> Value:
    tone = _GOOD.get(wording.worst(outcomes), "bad")
    return Value(wording.cell(outcomes), "text", tone=tone, hover=wording.listing(outcomes))


def _failures(failures: list[wording.Failure]) -> Iterator[Block]:
    """Each kind of failure with the commands that repeat its cases."""
    if failures:
        yield Heading("What failed, and how to repeat it", "page")
    for failure in failures:
        yield Notice(failure.evidence, tone="bad", medium="page")
        yield Prose(failure.cases, medium="page")
        yield Folded(count(len(failure.outcomes), "command"), list(_commands(failure)))


def _commands(failure: wording.Failure) -> Iterator[Block]:
    for outcome in failure.outcomes:
        message = failure.own_message(outcome)
        title = f"{wording.case(outcome)}: {message}" if message else wording.case(outcome)
        yield Code(outcome.command, title, "page")


def _bad_ends(tried: Tried) -> Iterator[Block]:
    if tried.bad_ends:
        yield Heading("Jobs that ended badly after the last case that they tried", "page")
        yield Prose("The command repeats the whole job.", "muted", medium="page")
    for end in tried.bad_ends:
        yield Notice(wording.bad_end(end), tone="bad", medium="page")
        yield Folded("Command", [Code(end.command)])


def _not_tried(tried: Tried) -> Iterator[Block]:
    left_out = [outcome for outcome in tried.outcomes if outcome.status == NOT_TRIED]
    if left_out:
        rows = [
            Row(wording.case(outcome), {"why": Value(outcome.message, "text")})
            for outcome in left_out
        ]
        column = Column("why", "Why", figure=False, long=True)
        table = Table("", "", "Case", [column], [Rows("", rows)])
        yield Folded(f"Not tried: {count(len(left_out), 'case')}", [table])
