# SPDX-License-Identifier: Apache-2.0
"""The answer of a study: a sentence, a row for each path, what costs most, and what is not known.

Terminal, page and Markdown show the same blocks; the rest of the report is their evidence.
"""

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nearpeak.document.model import (
    Bar,
    Block,
    Column,
    Document,
    Findings,
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
from nearpeak.journal import resume_study
from nearpeak.numbers import count, listed, number, percent, size, unit
from nearpeak.picture.measured import HALF, NEAR
from nearpeak.report import applications, imported, wording
from nearpeak.report.cards import card, cards
from nearpeak.report.families import families
from nearpeak.report.headlines import Group, groups
from nearpeak.report.notices import scopes
from nearpeak.results.results import Headline, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL

GOOD, FAIR = NEAR, HALF  # of the ceiling, from which a rate is called so
MOST_ROWS = 10
MOST_SENTENCES = 3
MOST_LETTERS = 40  # of the cause of a failure
MOST_PATHS = 3  # in the sentence, of each verdict
VERDICTS: tuple[tuple[float, str, Tone], ...] = (
    (GOOD, "good", "good"),
    (FAIR, "fair", "note"),
    (0.0, "poor", "bad"),
)
MEANING = (
    "Of the best library each. Ceiling: what the path carries without MPI at the same size."
    f" good: {100 * GOOD:.0f} % of it or more; fair: {100 * FAIR:.0f} % or more."
)
SHARES = [Column("share", "% of", "ceiling"), Column("bar", "", figure=False)]
WAYS = {"H,D": "host to GPU", "D,H": "GPU to host"}


class Line(NamedTuple):
    """The figures that represent a path with one kind of buffers."""

    group: Group
    time: Headline | None  # of a small message
    rate: Headline | None  # of large messages

    @property
    def label(self) -> str:
        """`host-gpu near, host to GPU`."""
        way = WAYS.get(self.group.buffers)
        return f"{self.group.place.path}, {way}" if way else self.group.place.path

    @property
    def share(self) -> float | None:
        """The share of the ceiling, of a rate where there is one."""
        head = self.rate or self.time
        return head.fraction if head else None

    @property
    def sure(self) -> bool:
        """True if the share has an interval."""
        head = self.rate or self.time
        return head is not None and head.fraction_ci95 is not None


def digest(results: Results, folder: Path = Path("DIR")) -> Document:
    """The answer as a document; `folder`: the study's, which commands name."""
    return Document(
        title=f"Nearpeak {wording.subject(results)}",
        heading=f"How near to the peak does MPI run on {results.machine.hostname}?",
        byline=[],
        sections=[
            Section("", [*answer(results, folder), *paths(results), *actions(results, folder)]),
        ],
    )


def answer(results: Results, folder: Path) -> Iterator[Block]:
    """Yields the answer in a sentence or two, and what spoils it. `folder`: as for `digest`."""
    lines = _lines(results)
    yield Prose(sentence(results, lines), strong=True)
    if hardware := links(results):
        yield Prose(hardware)
    if unknown := unjudged(results):
        yield Prose(f"{unknown}.", tone="muted")
    if text := wording.conditions(results):
        yield Notice(text, tone="bad")
    if results.failures:
        yield Notice(_failed(results), tone="bad", details="failures")
    if not results.complete:
        text = "This study is not complete. To continue it:"
        yield Notice(text, tone="note", command=resume_study(folder))


def paths(results: Results) -> Iterator[Block]:
    """Yields a row for each path, or what else was measured."""
    lines = _lines(results)
    yield from [_table(lines)] if lines else _others(results)
    beside = imported.table(results)
    if beside.groups:
        yield replace(beside, name=beside.title.rstrip("."), caption="")
    if any(library.imported for library in results.libraries):
        yield from scopes(results)


def actions(results: Results, folder: Path) -> Iterator[Block]:
    """Yields what costs most."""
    furthest = min((line for line in _lines(results) if line.rate), key=_share, default=None)
    poor = furthest.rate if furthest and _share(furthest) < FAIR else None
    if shown := list(cards(results, folder, poor)):
        yield Findings(shown)


def all_findings(results: Results) -> Findings:
    """Every finding, the costliest first."""
    return Findings(list(map(card, results.findings)))


def _others(results: Results) -> Iterator[Block]:
    """Yields what a study without messages measured: applications, and families of operations."""
    for section in applications.sections(results):
        yield _medians(replace(section.table, name=section.name, caption=""))
        yield Items(section.sentences, most=MOST_SENTENCES)
    for family in families(results):
        yield Items(family.sentences, family.title, most=MOST_SENTENCES)


def _medians(table: Table) -> Table:
    """A table without intervals and ranges."""
    groups = [Rows(group.title, [_median_row(row) for row in group.rows]) for group in table.groups]
    return replace(table, groups=groups)


def _median_row(row: Row) -> Row:
    values = {
        key: replace(value, ci95=None, range=None, notes=()) for key, value in row.values.items()
    }
    return replace(row, values=values)


def _lines(results: Results) -> list[Line]:
    """The line of each path with each kind of buffers: of all pairs of a kind, the slowest."""
    slowest: dict[tuple[str, str], Line] = {}
    for group in groups(results):
        line = _line(results, group)
        kind = group.place.kind if group.place.pair else group.place.path
        key = (kind, group.buffers)
        slowest[key] = min(slowest.get(key, line), line, key=_share)
    return list(slowest.values())


def _line(results: Results, group: Group) -> Line:
    heads = [group.figures[name] for name in wording.main_figures(results, group)]
    times = [head for head in heads if head.better == "lower"]
    rates = [head for head in heads if head.better == "higher"]
    return Line(group, *(next(iter(of_kind), None) for of_kind in (times, rates)))


def _share(line: Line) -> float:
    return line.share or 0.0


def _verdict(share: float | None) -> tuple[str, Tone]:
    """`good`, `fair` or `poor`, with its tone; empty without a ceiling."""
    if share is None:
        return "", ""
    return next((word, tone) for least, word, tone in VERDICTS if share >= least)


def sentence(results: Results, lines: Sequence[Line]) -> str:
    """`On host1, the best MPI library reaches 97 % of the ceiling on gpu-gpu nvlink (good); ...`"""
    by_word: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if line.share is not None:
            text = f"{percent(line.share)} % on {line.label}"
            by_word[_verdict(line.share)[0]].append(text)
    if not by_word:
        subject = wording.subject(results)
        return f"{subject[:1].upper()}{subject[1:]}."
    sure = any(line.sure for line in lines)
    parts = [
        f"{_named(by_word[word])}{f' ({word})' if sure else ''}"
        for _, word, _ in VERDICTS
        if word in by_word
    ]
    shares = "; ".join(parts).replace(" % on ", " % of the ceiling on ", 1)
    owners = {head.best for line in lines for head in (line.time, line.rate) if head}
    who = owners.pop() if len(owners) == 1 else None
    opening = "On" if sure else "Provisional, as launches are few: on"
    best = who.label if who else "the best MPI library"
    return f"{opening} {results.machine.hostname}, {best} reaches {shares}."


def _named(paths: Sequence[str]) -> str:
    """At most three of them, and the number of others."""
    left = len(paths) - MOST_PATHS
    return listed([*paths[:MOST_PATHS], *([f"{left} more"] if left > 0 else [])])


def links(results: Results) -> str:
    """The rates of the links without MPI beside their theoretical ones; empty if none is known."""
    shown = {
        peak.place.path: f"{number(peak.value)} GB/s of a theoretical"
        f" {number(peak.theoretical_gbs)} on {peak.place.path}"
        for peak in results.peaks
        if peak.of_theoretical is not None and not peak.place.pair and not peak.place.shared
    }
    if not shown:
        return ""
    return f"Without MPI, the links carry {_named(list(shown.values()))}."


def _failed(results: Results) -> str:
    by_library = Counter(failure.who.label or "the ceiling" for failure in results.failures)
    names = listed([f"{name} ({times})" for name, times in by_library.items()])
    first = results.failures[0]
    cause = textwrap.shorten(first.cause or first.status, MOST_LETTERS, placeholder="...")
    where = f", see {first.log}" if first.log else ""
    return f"{count(len(results.failures), 'launch')} failed: {names}, by {cause}{where}."


def _table(lines: Sequence[Line]) -> Table:
    shown = lines if len(lines) <= MOST_ROWS else sorted(lines, key=_share)[:MOST_ROWS]
    left = len(lines) - len(shown)
    rest = f" {count(left, 'path')} nearer to the ceiling: see the page." if left else ""
    small = next((line.time for line in lines if line.time), None)
    large = next((line.rate for line in lines if line.rate), None)
    return Table(
        title="",
        caption=(MEANING if _has_shares(lines) else "") + rest,
        head="path",
        columns=[
            *([Column("time", _title(small), figure=False)] if small else []),
            *([Column("rate", _title(large), figure=False)] if large else []),
            *(SHARES if _has_shares(lines) else []),
        ],
        groups=[Rows("", list(map(_row, shown)))],
        heads=True,
        compact=True,
    )


def _has_shares(lines: Sequence[Line]) -> bool:
    return any(line.share is not None for line in lines)


def _title(head: Headline) -> str:
    return f"{head.case.figure} {size(head.case.x)}"


def _row(line: Line) -> Row:
    word, tone = _verdict(line.share)
    values = {
        "time": Value(_figure(line.time), "text"),
        "rate": Value(_figure(line.rate), "text"),
        "share": Value(line.share, "percent"),
    }
    if line.share is not None:
        values["bar"] = Value(word, "text", bar=Bar(line.share), tone=tone)
    return Row(line.label, values)


def _figure(head: Headline | None) -> str:
    """`0.189 µs openmpi`."""
    if head is None or head.value is None:
        return ""
    return f"{number(head.value)} {unit(head.unit)} {head.best.label if head.best else ''}"


def unjudged(results: Results) -> str:
    """The gaps of this study in one line; empty if it has none."""
    measured = [cell for cell in results.cells if cell.median is not None]
    imported = {library.name for library in results.libraries if library.imported}
    measured_here = [cell for cell in measured if cell.who.library not in imported]
    few = sum(cell.launches < FEWEST_FOR_INTERVAL for cell in measured_here)
    missing = len(results.cells) - len(measured)
    wide = results.precision.wider if results.precision else 0
    parts = [
        f"{few} have too few launches for an interval" if few else "",
        f"{wide} are less precise than aimed at" if wide else "",
        f"{missing} could not be measured" if missing else "",
    ]
    gaps = listed(list(filter(None, parts)))
    left_out = f"{count(len(results.left_out), 'subject')} left out for time"
    others = [
        f"Of {count(len(results.cells), 'figure')}, {gaps}" if gaps else "",
        left_out if results.left_out else "",
    ]
    return "; ".join(filter(None, others))
