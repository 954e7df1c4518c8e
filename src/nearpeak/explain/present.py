# SPDX-License-Identifier: Apache-2.0
"""Explanations as documents: where the time of messages goes, and which way with the layer."""

from collections.abc import Iterator, Sequence

from nearpeak.document.model import (
    Block,
    Code,
    Column,
    Document,
    Drawing,
    Folded,
    Heading,
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
from nearpeak.explain import drawing, wording
from nearpeak.numbers import number, size
from nearpeak.observations.explained import Budget, ExplainedCase, Explanation, Part
from nearpeak.observations.ways import Leg, Step, Ways, alike

MOST, FEW, MANY = 5, 3, 3  # parts in the answer; of as many messages, fewer of each
BRIEF = [Column("what", "what", figure=False), Column("time", "µs"), Column("percent", "%")]
PARTS = [
    Column("what", "What", figure=False),
    Column("mean", "Each", "µs"),
    Column("busy", "All", "µs"),
    Column("time", "Share", "µs"),
    Column("percent", "Share", "%"),
]


def present(explanation: Explanation) -> Document:
    """The whole explanation; its answer has the largest parts of each message."""
    brief = [block for case in explanation.cases for block in _brief(explanation, case)]
    return Document(
        title=f"Where the time of a message goes: {wording.library(explanation)} on"
        f" {explanation.host}",
        heading="Where does the time of a message go?",
        byline=_byline(explanation),
        sections=[
            Section("", brief, "found"),
            Section("", list(_answer(explanation)), "next"),
            *(
                Section(
                    wording.title(explanation, case),
                    list(_case(explanation, case)),
                    medium="details",
                )
                for case in explanation.cases
            ),
            Section("How it was looked at", [*_method(explanation)], medium="page"),
        ],
        footer="Made by `nearpeak explain`; docs/how-to/explain.md says what each word means.",
        style=drawing.STYLE,
    )


def _brief(explanation: Explanation, case: ExplainedCase) -> Iterator[Block]:
    """The largest parts of a message, of that way which takes longer."""
    longest = max(case.budgets, key=lambda budget: budget.time_us, default=None)
    first = case is explanation.cases[0]
    yield Prose(wording.sentence(explanation, case, longest, first=first), strong=True)
    for doubt in wording.doubts(case):
        yield Notice(f"{doubt}.", tone="note")
    if longest:
        most = MOST if len(explanation.cases) < MANY else FEW
        largest = sorted(longest.parts, key=lambda part: -part.time_us)[:most]
        rows = [Rows("", [_part(part, longest) for part in largest])]
        yield Table("", "", "who", BRIEF, rows, heads=True, compact=True)


def sections(explanations: Sequence[Explanation]) -> list[tuple[str, list[Block]]]:
    """The explanations of a study for its page: titles, and the blocks below."""
    return [section for explanation in explanations for section in _sections(explanation)]


def _sections(explanation: Explanation) -> Iterator[tuple[str, list[Block]]]:
    subject = f"{wording.library(explanation)}, {explanation.path}"
    for case in explanation.cases:
        yield f"{subject}, {wording.title(explanation, case)}", list(_case(explanation, case))
    if explanation.failed:
        yield subject, list(_failed(explanation))


def _byline(explanation: Explanation) -> list[str]:
    return [
        wording.library(explanation),
        f"{explanation.path} ({explanation.path_summary})",
        explanation.host,
        ", ".join(explanation.gpus),
        f"driver {explanation.driver}" if explanation.driver else "",
        moment(explanation.started),
        f"Nearpeak {explanation.nearpeak}",
    ]


def _answer(explanation: Explanation) -> Iterator[Block]:
    yield from _failed(explanation)
    if command := wording.search(explanation):
        yield Code(command, "To search for settings that make it faster:", "")


def _failed(explanation: Explanation) -> Iterator[Block]:
    for line in wording.failed(explanation):
        yield Notice(f"{line}.", tone="note")


def _case(explanation: Explanation, case: ExplainedCase) -> Iterator[Block]:
    yield Prose(f"{wording.figures(case)}.", strong=True)
    for doubt in wording.doubts(case):
        yield Notice(f"{doubt}.", tone="note")
    for budget in case.budgets:
        yield from _budget(explanation, budget)
    if together := wording.accounted_together(case):
        yield Prose(together)
    for line in wording.counters(case):
        yield Prose(line, "muted")
    for report in explanation.said:
        if report.size_bytes == case.size_bytes and report.lines:
            yield Items(report.protocols, f"The library says with {report.asked}")
            lines = Code("\n".join(report.lines))
            yield Folded(f"All that the library says with {report.asked}", [lines])


def _budget(explanation: Explanation, budget: Budget) -> Iterator[Block]:
    yield Heading(wording.leg(budget, explanation))
    yield Drawing(drawing.timeline(budget), legend=drawing.legend(budget))
    rows = [_part(part, budget) for part in wording.shown(budget)]
    rows += [
        _rest("all else that was seen", wording.others_us(budget), budget),
        _rest("not accounted for", budget.not_accounted_us, budget),
    ]
    accounted = wording.accounted(budget)
    yield Table("", accounted, "Who", PARTS, [Rows("", rows)], heads=True)
    for line in wording.sample_lines(budget):
        yield Prose(line, "muted")


def _part(part: Part, budget: Budget) -> Row:
    values = {
        "what": Value(f"{part.label}{part.beside}", "text", mark=part.kind),
        "mean": Value(part.mean_us),
        "busy": Value(part.busy_us),
    }
    return Row(wording.who(part), values | _share(part.time_us, budget))


def _rest(label: str, time_us: float, budget: Budget) -> Row:
    return Row("", {"what": Value(label, "text")} | _share(time_us, budget))


def _share(time_us: float, budget: Budget) -> dict[str, Value]:
    return {"time": Value(time_us), "percent": Value(time_us / budget.time_us, "percent")}


def _method(explanation: Explanation) -> Iterator[Block]:
    yield Prose(
        "Share: where several things went on at once, the time belongs to the first of these kinds:"
        f" {'; '.join(drawing.KINDS.values())}. What is accounted for is neither in the last of"
        " them nor in no call at all. No figure of a launch with the tracer enters any statistics."
    )
    yield Code(explanation.command, "The launch without the tracer:")


def present_ways(ways: Ways) -> Document:
    """The routes of messages with the layer, for the terminal: a table for each pair of memories,
    and the settings that decide."""
    settings = " ".join(f"{name}={value}" for name, value in ways.settings.items())
    library = f"{ways.library} {ways.version}"
    return Document(
        title=f"Routes of messages with {library}",
        heading="Which way do messages go?",
        byline=[library, ways.host],
        sections=[
            *(Section(f"{leg.words.capitalize()}, {leg.path}", [_leg(leg)]) for leg in ways.legs),
            Section("", list(_notices(ways))),
        ],
        conclusion=f"{library} on {ways.host}, decided by (docs/how-to/layer.md): {settings}",
    )


def _leg(leg: Leg) -> Table:
    over = "" if leg.buffers == "D,D" else "mean of there and back"
    time = Column("time", "Time", "µs", over=over, figure=False)
    columns = [Column("way", "Way", figure=False), time]
    return Table(
        "", "", "Size", columns, [Rows("", list(map(_steps, alike(leg.steps))))], heads=True
    )


def _steps(group: Sequence[Step]) -> Row:
    times = _ends([number(step.latency_us) for step in group])
    values = {"way": Value(group[0].way or "unknown", "text"), "time": Value(times, "text")}
    return Row(_ends([size(step.size_bytes) for step in group]), values)


def _ends(figures: Sequence[str]) -> str:
    """`8 B to 64 B`."""
    return " to ".join([figures[0], *figures[1:][-1:]])


def _notices(ways: Ways) -> Iterator[Block]:
    for failure in ways.failed:
        yield Notice(f"Failed: {failure}", tone="bad")
    if ways.no_kernel:
        yield Notice(f"No kernel copies: {ways.no_kernel}", tone="note")
    for rank, most in ways.kernel_bytes.items():
        yield Notice(
            f"Measured meanwhile: of what rank {rank} sends between devices a kernel copies up to"
            f" {size(most)}, the copy engine what is longer."
        )
