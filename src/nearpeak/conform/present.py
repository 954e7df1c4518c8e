# SPDX-License-Identifier: Apache-2.0
"""A conformance run as a document: what works with which memory."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from nearpeak.conform import wording
from nearpeak.conform.conformance import Conformance, Operation, Tried
from nearpeak.document.model import (
    Block,
    Code,
    Column,
    Document,
    Finding,
    Findings,
    Folded,
    Heading,
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

MOST = 3  # failures in the answer
COUNTED = (GOOD, *(way for way in wording.WORST if way != GOOD), wording.LEFT)
WORKS = {"", GOOD, NOT_TRIED}  # or was not tried
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
    """The whole run; its answer has the counts of each library, and the failures of most cases."""
    return Document(
        title=f"MPI conformance on {conformance.host}",
        heading=f"What works with which memory on {conformance.host}?",
        byline=_byline(conformance),
        sections=[
            Section("", list(_answer(conformance)), "found"),
            *(_section(conformance, tried) for tried in conformance.libraries),
            Section("How it was tried", list(_method(conformance)), medium="page"),
        ],
        footer="Made by `nearpeak conform`; docs/how-to/conform.md says what each word means.",
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


def _answer(conformance: Conformance) -> Iterator[Block]:
    tone: Tone = "bad" if conformance.failed else ""
    yield Prose(f"{wording.conclusion(conformance)}.", tone, strong=True)
    if conformance.libraries:
        yield _counts(conformance)
    if worst := sorted(_findings(conformance), key=lambda finding: -finding[0])[:MOST]:
        yield Findings([finding for _, finding in worst])


def _counts(conformance: Conformance) -> Table:
    """A row for each library: how many cases ended in each way."""
    counts = {tried.label: wording.counts(tried) for tried in conformance.libraries}
    ways = [way for way in COUNTED if any(ends[way] for ends in counts.values())]
    rows = [
        Row(f"{tried.label} {tried.version}", _figures(counts[tried.label], ways))
        for tried in conformance.libraries
    ]
    columns = [Column(way, way) for way in ways]
    return Table("", "", "library", columns, [Rows("", rows)], heads=True, compact=True)


def _figures(ends: Counter[str], ways: Sequence[str]) -> dict[str, Value]:
    return {way: Value(ends[way], "count", tone=_GOOD.get(way, "")) for way in ways}


def _findings(conformance: Conformance) -> Iterator[tuple[int, Finding]]:
    """Yields each kind of failure with the number of its cases."""
    for tried in conformance.libraries:
        for failure in wording.failures(tried):
            repeat = wording.repeat(conformance, tried, failure.outcomes[0])
            evidence = [failure.evidence, failure.cases]
            text = wording.headline(tried, failure)
            yield len(failure.outcomes), Finding(text, "Try it again:", repeat, evidence=evidence)
        for end in tried.bad_ends:
            text = f"{tried.label}: {wording.bad_end(end)}"
            yield 0, Finding(text, "The page has the command of the whole job.")


def _method(conformance: Conformance) -> Iterator[Block]:
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
    """All that is known of a library; the terminal has what does not work."""
    return Section(
        f"{tried.label} {tried.version}: {wording.totals(tried)}",
        [
            _table(conformance, tried),
            *_failures(wording.failures(tried)),
            *_bad_ends(tried),
            *_not_tried(tried),
        ],
        medium="details",
    )


def _worst(conformance: Conformance, tried: Tried, operation: Operation) -> Iterator[str]:
    for memory in conformance.memories:
        yield wording.worst(wording.outcomes_in(tried, operation, memory))


def _table(conformance: Conformance, tried: Tried) -> Table:
    columns = [
        Column(str(number), wording.memory_label(memory), figure=False)
        for number, memory in enumerate(conformance.memories)
    ]
    groups = [
        Rows(family, [_row(conformance, tried, operation) for operation in members])
        for family, members in groupby(conformance.operations, attrgetter("family"))
    ]
    return Table("", "", "Operation", columns, groups, heads=True)


def _row(conformance: Conformance, tried: Tried, operation: Operation) -> Row:
    values = {
        str(number): _value(wording.outcomes_in(tried, operation, memory))
        for number, memory in enumerate(conformance.memories)
    }
    works = set(_worst(conformance, tried, operation)) <= WORKS
    medium: Medium = "page" if works else ""
    return Row(operation.name, values, hover=operation.summary, medium=medium)


def _value(outcomes: list[Outcome]) -> Value:
    tone = _GOOD.get(wording.worst(outcomes), "bad")
    return Value(wording.cell(outcomes), "text", tone=tone, hover=wording.listing(outcomes))


def _failures(failures: list[wording.Failure]) -> Iterator[Block]:
    """Each kind of failure with the commands that repeat its cases."""
    if failures:
        yield Heading("What failed")
    for failure in failures:
        yield Notice(failure.evidence, tone="bad")
        yield Prose(failure.cases)
        commands = count(len(failure.outcomes), "command")
        yield Folded(f"To repeat it: {commands}", list(_commands(failure)))


def _commands(failure: wording.Failure) -> Iterator[Block]:
    for outcome in failure.outcomes:
        message = failure.own_message(outcome)
        title = f"{wording.case(outcome)}: {message}" if message else wording.case(outcome)
        yield Code(outcome.command, title, "page")


def _bad_ends(tried: Tried) -> Iterator[Block]:
    if tried.bad_ends:
        yield Heading("Jobs that ended badly after the last case that they tried")
        yield Prose("The command repeats the whole job.", "muted", medium="page")
    for end in tried.bad_ends:
        yield Notice(wording.bad_end(end), tone="bad")
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
