# SPDX-License-Identifier: Apache-2.0
"""A tuning as a document: which settings make the library faster."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from nearpeak.document.model import (
    Block,
    Code,
    Column,
    Document,
    Drawing,
    Items,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    Tone,
    Value,
)
from nearpeak.document.templates import moment
from nearpeak.libraries.profiles import Evidence
from nearpeak.numbers import interval, number, unit
from nearpeak.tune import drawing, wording
from nearpeak.tune.tuned import Tried, Tuned
from nearpeak.tune.written import ONLY

SHOWN = 24  # values in the drawing, chosen by the largest change; the table has all
MOST, LETTERS = 6, 180  # targets in the answer, and letters of the settings
TARGETS = [
    Column("before", "as it is"),
    Column("after", "tuned"),
    Column("times", "times as fast"),
    Column("ci95", "95 % interval"),
    Column("verdict", "verdict", figure=False),
]
EVIDENCE = [
    Column("before", "As it is"),
    Column("after", "Tuned"),
    Column("unit", "Unit", figure=False),
    Column("ceiling", "Ceiling"),
    Column("times", "Times as fast"),
    Column("verdict", "Verdict", figure=False),
]
APART = Column("apart", "CPUs apart", figure=False)
RULES = [
    Column("ranks", "Ranks"),
    Column("from", "From"),
    Column("algorithm", "Algorithm", figure=False),
]
TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}
FOOTER = Markup(
    "Made by <code>nearpeak tune</code>; docs/methods/tune.md says how it searches and judges.{}"
)
STUDY = Markup(' The study that confirms: <a href="study/report.html">study/report.html</a>.')


def present(tuning: Tuned, files: Mapping[str, Sequence[Path]]) -> Document:
    """The whole tuning; its answer has the targets, how to use the profile, and its price. `files`:
    those of each profile, by where it may be used; the profile itself comes first."""
    others = [Items(lines, title) for title, lines in wording.others(tuning) if lines]
    return Document(
        title=f"Settings for {tuning.library} on {tuning.host}",
        heading="Which settings make it faster?",
        byline=_byline(tuning),
        sections=[
            Section("", list(_answer(tuning, files)), "found"),
            Section("The settings", list(_settings(tuning, files)), "settings", "details"),
            Section("What else was found", others, "else", "details"),
            Section("What was tried", list(_tried(tuning)), "tried", "details"),
        ],
        footer=FOOTER.format(STUDY if tuning.evidence else ""),
        style=drawing.STYLE,
    )


def _byline(tuning: Tuned) -> list[str]:
    summary = f" ({tuning.path_summary})" if tuning.path_summary else ""
    return [
        f"{tuning.library} {tuning.version}",
        f"{tuning.path}{summary}",
        f"buffers {tuning.buffers}",
        f"for {', '.join(tuning.targets)}",
        tuning.host,
        moment(tuning.started),
        f"Nearpeak {tuning.nearpeak}",
    ]


def _answer(tuning: Tuned, files: Mapping[str, Sequence[Path]]) -> Iterator[Block]:
    tone: Tone = "bad" if tuning.verdict == "fails" else ""
    yield Prose(f"{wording.conclusion(tuning)}.", tone, strong=True)
    if settings := "; ".join(wording.settings(tuning)):
        shown = textwrap.shorten(settings, LETTERS, placeholder=" ...")
        yield Prose(f"Settings for {tuning.library} {tuning.version}: {shown}")
    else:
        yield Prose(wording.searched(tuning))
    if tuning.evidence:
        rows = [Rows("", list(map(_target, tuning.evidence[:MOST])))]
        yield Table("", "", "target", TARGETS, rows, heads=True, compact=True, stacks=True)
    for scope, (profile, *_) in files.items():
        local = profile.parent.name.startswith(ONLY)
        use = wording.usage(tuning, scope, local=local)
        yield Code(f"--mpi {tuning.library}@{profile}", use, "")
    if price := wording.price(tuning):
        yield Prose(price)
    for fact in _asides(tuning):
        yield Prose(fact, "muted")


def _asides(tuning: Tuned) -> Iterator[str]:
    """Yields what is good to know after the price."""
    if tuning.verdict in ("taken", "taken here alone"):
        yield from filter(None, [wording.host_messages(tuning)])
    if tuning.verdict == "taken":
        yield from filter(None, [wording.power(tuning, tuning)])
    yield from filter(None, [wording.unjudged(tuning)])


def _target(row: Evidence) -> Row:
    values = {
        "before": Value(f"{number(row.before)} {unit(row.unit)}", "text"),
        "after": Value(f"{number(row.after)} {unit(row.unit)}", "text"),
        "times": Value(row.times),
        "ci95": Value(interval((row.ci95[0], row.ci95[1]) if row.ci95 else None), "text"),
        "verdict": Value(row.verdict, "text", tone=TONES.get(row.verdict, "")),
    }
    return Row(row.case, values)


def _settings(tuning: Tuned, files: Mapping[str, Sequence[Path]]) -> Iterator[Block]:
    if settings := wording.settings(tuning):
        yield Items(settings)
    for scope, (_, *others) in files.items():
        if others:
            yield Prose(f"Files to use it {scope} without Nearpeak: {', '.join(map(str, others))}")
    if markup := drawing.before_after(tuning.evidence):
        yield Drawing(
            markup,
            "Fractions of the ceiling,",
            "which is what the path carries without MPI:",
            [("before", "as it is"), ("after", "tuned")],
        )
    if tuning.evidence:
        yield _evidence(tuning.evidence)
    if tuning.rules:
        yield _rules(tuning)


def _evidence(evidence: Sequence[Evidence]) -> Table:
    apart = [APART] if any(row.apart for row in evidence) else []
    caption = "Medians of fresh launches that took no part in the search; [a, b]: 95 % interval"
    if any(len(row.distances) > 1 for row in evidence):
        caption += (
            ". Where the CPUs were at several distances, they are of all of these; CPUs apart has"
            " the distances one by one"
        )
    rows = [Rows("", list(map(_case, evidence)))]
    return Table("", caption, "Case", EVIDENCE + apart, rows, heads=True, stacks=True)


def _case(row: Evidence) -> Row:
    values = {
        "before": Value(row.before),
        "after": Value(row.after),
        "unit": Value(unit(row.unit), "text"),
        "times": Value(row.times, ci95=(row.ci95[0], row.ci95[1]) if row.ci95 else None),
        "verdict": Value(row.verdict, "text", tone=TONES.get(row.verdict, "")),
        "apart": Value(row.apart, "text"),
    }
    if row.ceiling is not None:
        values["ceiling"] = Value(row.ceiling)
    return Row(row.case, values)


def _rules(tuning: Tuned) -> Table:
    rows = [
        Row(
            table.name,
            {
                "ranks": Value(table.ranks, "count"),
                "from": Value(span.first, "size"),
                "algorithm": Value(span.words, "text"),
            },
        )
        for table in tuning.rules
        for span in table.ranges
    ]
    caption = (
        "The file of rules has the algorithms of collective operations by size. With any other"
        " number of ranks the library chooses as before."
    )
    return Table("", caption, "Operation", RULES, [Rows("", rows)], heads=True)


def _tried(tuning: Tuned) -> Iterator[Block]:
    yield Prose(wording.searched(tuning))
    yield Prose(
        "Most launches have many values at once: what one of them does is estimated by a regression"
        " over all launches, in which what few of them had counts as near to nothing; values that"
        " no launch had apart share what they do. The search chose by these launches, so what it"
        " took looks better here than it is.",
        medium="page",
    )
    targets = [
        (f"t{which % drawing.COLOURS}", target) for which, target in enumerate(tuning.targets)
    ]
    few = len(tuning.tried) <= SHOWN
    most = f"; the {SHOWN} values that change most of {len(tuning.tried)}"
    yield Drawing(
        drawing.each_value(_most(tuning.tried), tuning.targets),
        "Times as fast as without the value",
        f"(1: no change){'' if few else most}:",
        targets,
    )
    columns = [
        Column("launches", "Launches"),
        *(Column(target, target) for target in tuning.targets),
        Column("failed", "How it failed alone", figure=False, long=True),
    ]
    rows = [_value(tried, tuning.targets) for tried in tuning.tried]
    groups = [Rows("", rows)] if rows else []
    yield Table("", "", "Value", columns, groups, folded=f"All {len(rows)}", medium="page")


def _value(tried: Tried, targets: Sequence[str]) -> Row:
    values = {target: Value(times) for target, times in zip(targets, tried.times, strict=False)}
    values["launches"] = Value(tried.launches, "count")
    values["failed"] = Value(tried.failed, "text")
    return Row(tried.setting, values)


def _most(tried: Sequence[Tried]) -> list[Tried]:
    """The values that change a target most, the best first."""
    measured = [value for value in tried if value.times]
    far = sorted(measured, key=lambda value: max(max(t, 1 / t) for t in value.times), reverse=True)
    return sorted(far[:SHOWN], key=lambda value: max(value.times), reverse=True)
