# SPDX-License-Identifier: Apache-2.0
"""The answer of a study: a sentence, a row for each path, what costs most, and what is not known.

Terminal, page and Markdown show the same blocks; the rest of the report is their evidence.
"""

import shlex
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
from nearpeak.document.model import (
    Finding as Card,
)
from nearpeak.journal import resume_study
from nearpeak.numbers import count, listed, number, percent, size, unit
from nearpeak.picture.measured import HALF, NEAR
from nearpeak.report import applications, failures, findings, wording
from nearpeak.report.advice import sentence as advised
from nearpeak.report.families import families
from nearpeak.report.headlines import Group, groups
from nearpeak.results.names import case
from nearpeak.results.results import Advice, Finding, Headline, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.identity import Case, Place
from nearpeak.terms.sizes import format_bytes

GOOD, FAIR = NEAR, HALF  # of what a library can attain, from which a figure is called so
MOST_ROWS = 10
MOST_FINDINGS = 3
MOST_SENTENCES = 3
MOST_LETTERS = 40  # of the cause of a failure
MOST_PATHS = 3  # in the sentence, of each verdict
WORDS: tuple[tuple[float, str, Tone], ...] = (
    (GOOD, "good", "good"),
    (FAIR, "fair", "note"),
    (0.0, "poor", "bad"),
)
MEANING = (
    "The ceiling is what the path carries without MPI. The mark in a bar is what a library can"
    f" attain that the host drives; good is {100 * GOOD:.0f} % of that or more, fair"
    f" {100 * FAIR:.0f} %."
)


class Figure(NamedTuple):
    """A headline figure of one path and kind of buffers."""

    group: Group
    name: str
    headline: Headline

    @property
    def attained(self) -> float | None:
        """The share of what a library can attain: of the ceiling where that is not known."""
        head = self.headline
        if head.attainable is None or head.value is None or head.value == 0:
            return head.fraction
        ratio = head.value / head.attainable.value
        return 1 / ratio if head.better == "lower" else ratio

    @property
    def mark(self) -> float | None:
        """The place of the attainable figure on the bar."""
        head = self.headline
        if head.attainable is None or head.ceiling is None:
            return None
        ratio = head.attainable.value / head.ceiling.value
        return 1 / ratio if head.better == "lower" else ratio

    @property
    def verdict(self) -> str:
        """`good`, `fair`, `poor`; empty without a ceiling."""
        return _verdict(self.attained)[0]


def digest(results: Results, folder: Path = Path("DIR")) -> Document:
    """The answer as a document; `folder`: the study's, which commands name."""
    return Document(
        title=f"Nearpeak {wording.subject(results)}",
        heading=f"How near to the peak does MPI run on {results.machine.hostname}?",
        byline=[],
        sections=[
            Section("", [*answer(results), *paths(results), *actions(results, folder)]),
        ],
    )


def answer(results: Results) -> Iterator[Block]:
    """Yields the answer in a sentence."""
    yield Prose(sentence(results, list(_figures(results))), strong=True)
    if text := wording.conditions(results):
        yield Notice(text, tone="bad")


def paths(results: Results) -> Iterator[Block]:
    """Yields a row for each path, or what else was measured."""
    figures = list(_figures(results))
    yield from [_table(figures)] if figures else _others(results)


def actions(results: Results, folder: Path) -> Iterator[Block]:
    """Yields what costs most, and what is not known."""
    if cards := list(_cards(results, folder)):
        yield Findings(cards)
    if unknown := unjudged(results):
        yield Prose(f"Not judged: {unknown}.", tone="muted")


def all_findings(results: Results) -> Findings:
    """Every finding, the costliest first."""
    return Findings(list(map(_card, results.findings)))


def _others(results: Results) -> Iterator[Block]:
    """Yields what a study without messages measured: applications, and families of operations."""
    for section in applications.sections(results):
        yield replace(section.table, name=section.name, caption="")
        yield Items(section.sentences, most=MOST_SENTENCES)
    for family in families(results):
        yield Items(family.sentences, family.title, most=MOST_SENTENCES)


def _figures(results: Results) -> Iterator[Figure]:
    """Yields what represents each path: of all pairs of a kind, the slowest."""
    pairs: dict[tuple[str, str], Figure] = {}
    for group in groups(results):
        for name in wording.main_figures(results, group):
            figure = Figure(group, name, group.figures[name])
            if not group.place.pair:
                yield figure
                continue
            key = (group.place.kind, name)
            pairs[key] = min(pairs.get(key, figure), figure, key=_reached)
    yield from pairs.values()


def _reached(figure: Figure) -> float:
    return figure.headline.fraction or 0.0


def _verdict(share: float | None) -> tuple[str, Tone]:
    if share is None:
        return "", ""
    return next((word, tone) for least, word, tone in WORDS if share >= least or not least)


def sentence(results: Results, figures: Sequence[Figure]) -> str:
    """`On host1, the best MPI library reaches 97 % of the ceiling on gpu-gpu nvlink (good); ...`"""
    host = results.machine.hostname
    worst: dict[str, Figure] = {}
    for figure in figures:
        path = figure.group.place.path
        if figure.attained is not None:
            worst[path] = min(worst.get(path, figure), figure, key=_attained)
    if not worst:
        return f"{wording.subject(results)[:1].upper()}{wording.subject(results)[1:]}."
    by_word: dict[str, list[str]] = defaultdict(list)
    for path, figure in worst.items():
        by_word[figure.verdict].append(f"{percent(figure.headline.fraction)} % on {path}")
    parts = [f"{_named(by_word[word])} ({word})" for _, word, _ in WORDS if word in by_word]
    shares = "; ".join(parts).replace(" % on ", " % of the ceiling on ", 1)
    return f"On {host}, the best MPI library reaches {shares}."


def _named(paths: Sequence[str]) -> str:
    """At most three of them, and the number of others."""
    left = len(paths) - MOST_PATHS
    return listed([*paths[:MOST_PATHS], *([f"{left} more"] if left > 0 else [])])


def _attained(figure: Figure) -> float:
    return figure.attained or 0.0


def _table(figures: Sequence[Figure]) -> Table:
    shown = figures
    if len(figures) > MOST_ROWS:
        shown = sorted(figures, key=_attained)[:MOST_ROWS]
    left = len(figures) - len(shown)
    rest = f" The {count(left, 'figure')} that are nearer are on the page." if left else ""
    return Table(
        title="",
        caption=MEANING + rest,
        head="path",
        columns=[
            Column("case", "figure", figure=False),
            Column("who", "best library", figure=False),
            Column("value", "measured"),
            Column("ceiling", "ceiling"),
            Column("share", "%"),
            Column("bar", "of ceiling", figure=False),
            Column("verdict", "", figure=False),
        ],
        groups=[Rows("", list(_rows(shown)))],
        heads=True,
        compact=True,
    )


def _rows(figures: Sequence[Figure]) -> Iterator[Row]:
    """Yields the rows; the path stands in its first one."""
    before = ""
    for figure in figures:
        path = figure.group.place.path
        yield _row(figure, "" if path == before else path)
        before = path


def _row(figure: Figure, path: str) -> Row:
    head = figure.headline
    word, tone = _verdict(figure.attained)
    ceiling = head.ceiling
    values = {
        "case": Value(f"{case(head.case)} {size(head.case.x)}", "text"),
        "who": Value(head.best.label if head.best else "none", "text"),
        "value": Value(_with_unit(head.value, head.unit), "text"),
        "ceiling": Value(ceiling.value if ceiling else None),
        "share": Value(head.fraction, "percent"),
        "verdict": Value(word, "text", tone=tone),
    }
    if head.fraction is not None:
        values["bar"] = Value("", "text", bar=Bar(head.fraction, figure.mark))
    return Row(path, values)


def _with_unit(value: float | None, name: str) -> str:
    return f"{number(value)} {unit(name)}" if value is not None else number(None)


def _cards(results: Results, folder: Path) -> Iterator[Card]:
    """Yields what to act on: failures, then the findings that cost most, else the advice."""
    urgent = list(_failed(results, folder))
    costly = list(_costly(results))
    yield from urgent
    room = MOST_FINDINGS - len(urgent)
    yield from map(_card, costly[:room])
    if not costly:
        yield from [card for given in results.advice if (card := _advised(results, given, folder))]


def _advised(results: Results, given: Advice, folder: Path) -> Card | None:
    """The card of an advice; None for those that other cards have."""
    if given.kind in ("failures", "loss"):
        return None
    evidence = [advised(results, given)]
    if given.kind == "path":
        peak = next(peak for peak in results.peaks if (peak.place, peak.case) == _key(given))
        return Card(
            f"{peak.place.path} carries {percent(peak.of_theoretical)} % of its theoretical"
            f" {number(peak.theoretical_gbs)} GB/s without MPI",
            "Check the hardware:",
            "nearpeak machine --check",
            evidence=evidence,
        )
    if given.kind == "launches":
        command = resume_study(folder, "--launches", str(given.launches))
        return Card("Too few launches for intervals and verdicts", "Measure more:", command)
    if given.kind == "near":
        return Card("Nothing to do", evidence[0])
    headline = next(row for row in results.headlines if (row.place, row.case) == _key(given))
    case_ = headline.case
    share = f"reaches {percent(given.fraction)} % of the ceiling"
    subject = f"{headline.place.path}, {case(case_)} at {size(case_.x)}"
    if given.kind == "open":
        low, high = given.fraction_ci95 or (0.0, 0.0)
        text = f"{subject}: launches scatter, {percent(low)} to {percent(high)} % of the ceiling"
        return Card(text, "Measure again when the machine is idle.", evidence=evidence)
    who = given.who.label if given.who else "the best library"
    explain = ["nearpeak", "explain", case_.benchmark, "--mpi", who, "--path", headline.place.path]
    explain += ["--buffers", case_.buffers, "--sizes", format_bytes(case_.x)]
    return Card(f"{subject}: {who} {share}", "See why:", shlex.join(explain), evidence=evidence)


def _key(given: Advice) -> tuple[Place | None, Case | None]:
    return given.place, given.case


def _costly(results: Results) -> Iterator[Finding]:
    """Yields the findings that lose time, one for each library, path and buffers."""
    seen = set()
    for finding in results.findings:
        key = (finding.who, finding.place, finding.case and finding.case.buffers)
        if finding.weighted_us and key not in seen:
            seen.add(key)
            yield finding


def _failed(results: Results, folder: Path) -> Iterator[Card]:
    if not results.failure_kinds:
        return
    by_library = Counter(failure.who.label or "the ceiling" for failure in results.failures)
    names = listed([f"{name} ({times})" for name, times in by_library.items()])
    first = results.failure_kinds[0]
    cause = textwrap.shorten(first.cause or first.status, MOST_LETTERS, placeholder="...")
    yield Card(
        f"{count(len(results.failures), 'launch')} failed: {names}, by {cause}",
        "See why:" if first.log else "Repeat one: the report has the command of each.",
        f"less {folder / first.log}" if first.log else "",
        evidence=failures.sentences(results),
    )


def _card(finding: Finding) -> Card:
    return Card(
        text=findings.headline(finding),
        action=findings.action(finding),
        command=finding.remedy.tune,
        doubt="" if finding.sure else findings.doubt(finding),
        evidence=[findings.sentence(finding), findings.lost(finding), findings.advised(finding)],
        sources=[(source.text, source.address) for source in finding.sources],
    )


def unjudged(results: Results) -> str:
    """The gaps of this study in one line; empty if it has none."""
    measured = [cell for cell in results.cells if cell.median is not None]
    imported = {library.name for library in results.libraries if library.imported}
    measured_here = [cell for cell in measured if cell.who.library not in imported]
    few = sum(cell.launches < FEWEST_FOR_INTERVAL for cell in measured_here)
    missing = len(results.cells) - len(measured)
    wide = results.precision.wider if results.precision else 0
    parts = [
        f"{missing} of {count(len(results.cells), 'figure')} not measured" if missing else "",
        f"{few} of {len(measured_here)} with too few launches for an interval" if few else "",
        f"{wide} less precise than aimed at" if wide else "",
        f"{count(len(results.left_out), 'subject')} left out for time" if results.left_out else "",
        "the study is not complete" if not results.complete else "",
    ]
    return "; ".join(filter(None, parts))
