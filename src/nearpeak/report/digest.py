# SPDX-License-Identifier: Apache-2.0
"""The answer of a study: a sentence, a row for each path, what costs most, and what is not known.

Terminal, page and Markdown show the same blocks; the rest of the report is their evidence.
"""

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nearpeak.document.model import (
    Block,
    Document,
    Findings,
    Items,
    Notice,
    Prose,
    Row,
    Rows,
    Section,
    Table,
)
from nearpeak.journal import resume_study
from nearpeak.numbers import count, listed, number, percent, size
from nearpeak.report import applications, imported, wording
from nearpeak.report.cards import card, cards
from nearpeak.report.families import families
from nearpeak.report.lines import RATINGS, UNSURE, Line, furthest, lines, share
from nearpeak.report.notices import scopes
from nearpeak.report.path_table import path_table
from nearpeak.report.tables import table_one
from nearpeak.results.results import Failure, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL

MOST_SENTENCES = 3
MOST_LETTERS = 40  # of the cause of a failure
MOST_PATHS = 3  # in the sentence, of each rating


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
    shown = lines(results)
    yield Prose(sentence(results, shown), strong=True)
    if times := small_messages(shown):
        yield Prose(times)
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
    if shown := lines(results):
        yield path_table(shown)
        if others := _also(results):
            yield Prose(others, tone="muted")
    else:
        yield from _others(results)
    beside = imported.table(results)
    if beside.groups:
        yield replace(beside, name=beside.title.rstrip("."), caption="")
    if any(library.imported for library in results.libraries):
        yield from scopes(results)


def actions(results: Results, folder: Path) -> Iterator[Block]:
    """Yields what costs most."""
    if shown := list(cards(results, folder, furthest(lines(results)))):
        yield Findings(shown)


def all_findings(results: Results) -> Findings:
    """Every finding, the costliest first."""
    return Findings(list(map(card, results.findings)))


def _others(results: Results) -> Iterator[Block]:
    """Yields what a study without messages measured: applications, families of operations, or
    what the paths carry without MPI."""
    for section in applications.sections(results):
        yield _medians(replace(section.table, name=section.name, caption=""))
        yield Items(section.sentences, most=MOST_SENTENCES)
    for family in families(results):
        yield Items(family.sentences, family.title, most=MOST_SENTENCES)
    if not _has_figures(results) and results.peaks:
        yield replace(table_one(results, results.peaks), title="", caption="")


def _also(results: Results) -> str:
    """Names what was measured besides messages; empty if nothing was."""
    titles = [section.name for section in applications.sections(results)]
    titles += [family.title.lower() for family in families(results)]
    return f"Also measured: {listed(titles)}." if titles else ""


def _medians(table: Table) -> Table:
    """A table without intervals and ranges."""
    groups = [Rows(group.title, [_median_row(row) for row in group.rows]) for group in table.groups]
    return replace(table, groups=groups)


def _median_row(row: Row) -> Row:
    values = {
        key: replace(value, ci95=None, range=None, notes=()) for key, value in row.values.items()
    }
    return replace(row, values=values)


def sentence(results: Results, shown: Sequence[Line]) -> str:
    """`On host1, the best MPI library reaches 97 % of the ceiling on gpu-gpu nvlink (good); ...`"""
    by_word: dict[str, list[str]] = defaultdict(list)
    for line in shown:
        if line.share is not None:
            by_word[line.rating[0]].append(f"{percent(line.share)} % on {line.label}")
    if not by_word:
        return _without_shares(results)
    ratings = [word for word in (*(word for _, word, _ in RATINGS), UNSURE) if word in by_word]
    all_few = ratings == [UNSURE]
    remarks = {word: "" if all_few else f" ({word})" for word in ratings}
    parts = [f"{_named(by_word[word])}{remarks[word]}" for word in ratings]
    shares = "; ".join(parts).replace(" % on ", " % of the ceiling on ", 1)
    owners = {line.judged.best for line in shown if line.judged and line.share is not None}
    who = owners.pop() if len(owners) == 1 else None
    best = who.label if who else "the best MPI library"
    text = f"On {results.machine.hostname}, {best} reaches {shares}."
    return f"Unsure, as launches are few: {text[:1].lower()}{text[1:]}" if all_few else text


def _without_shares(results: Results) -> str:
    """The answer of a study in which no figure of a message has a ceiling."""
    subject = wording.subject(results)
    if _has_figures(results):
        return f"{subject[:1].upper()}{subject[1:]}."
    if results.ceilings:
        return f"{subject[:1].upper()}{subject[1:]}: no library was measured, only the ceilings."
    return f"{subject[:1].upper()}{subject[1:]}: nothing could be measured."


def _has_figures(results: Results) -> bool:
    """True if a library has a figure, of messages or of an application."""
    return any(cell.median is not None for cell in results.timed)


def small_messages(shown: Sequence[Line]) -> str:
    """`8 B messages take 1.65 to 2.54 times as long as without MPI.`, by path; empty without
    a ceiling."""
    timed = [head for line in shown if line.rate and (head := line.time) and share(head)]
    if not timed:
        return ""
    times = [1 / reached for head in timed if (reached := share(head))]
    between = " to ".join(dict.fromkeys(map(number, (min(times), max(times)))))
    x = max(head.case.x for head in timed)
    return f"{size(x)} messages take {between} times as long as without MPI."


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
    return f"Without MPI, links carry {_named(list(shown.values()))}."


def _failed(results: Results) -> str:
    """`7 launches failed: intel (6, SIGSEGV) and mpich (1, timeout), see logs/12.txt.`"""
    launches: dict[str, list[Failure]] = defaultdict(list)
    for failure in results.failures:
        launches[failure.who.label].append(failure)
    names = [f"{name} ({len(ended)}, {_cause(ended[0])})" for name, ended in launches.items()]
    log = results.failures[0].log
    where = f", see {log}" if log else ""
    return f"{count(len(results.failures), 'launch')} failed: {_named(names)}{where}."


def _cause(failure: Failure) -> str:
    return textwrap.shorten(failure.cause or failure.status, MOST_LETTERS, placeholder="...")


def unjudged(results: Results) -> str:
    """The gaps of this study in one line; empty if it has none."""
    measured = [cell for cell in results.timed if cell.median is not None]
    imported = {library.name for library in results.libraries if library.imported}
    measured_here = [cell for cell in measured if cell.who.library not in imported]
    few = sum(cell.launches < FEWEST_FOR_INTERVAL for cell in measured_here)
    missing = len(results.timed) - len(measured)
    wide = results.precision.wider if results.precision else 0
    parts = [
        f"{few} {'has' if few == 1 else 'have'} too few launches" if few else "",
        f"{wide} {'is' if wide == 1 else 'are'} imprecise" if wide else "",
        f"{missing} {'was' if missing == 1 else 'were'} not measured" if missing else "",
    ]
    gaps = listed(list(filter(None, parts)))
    left_out = f"{count(len(results.left_out), 'subject')} left out for time"
    others = [
        f"Of {count(len(results.timed), 'figure')}, {gaps}" if gaps else "",
        left_out if results.left_out else "",
    ]
    return "; ".join(filter(None, others))
