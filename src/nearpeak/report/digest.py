# SPDX-License-Identifier: Apache-2.0
"""The answer of a study: a sentence, a row for each path, and what costs most.

Terminal, page and Markdown show the same blocks; the rest of the report is their evidence.
"""

import textwrap
from collections.abc import Iterator
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
from nearpeak.grouping import grouped
from nearpeak.journal import resume_study
from nearpeak.numbers import count, listed
from nearpeak.report import applications, imported, wording
from nearpeak.report.behind import far_behind
from nearpeak.report.cards import card, cards
from nearpeak.report.conclusion import gaps, has_figures, links, sentence
from nearpeak.report.families import families, titles_of
from nearpeak.report.lines import lines, poor
from nearpeak.report.notices import scopes
from nearpeak.report.path_table import path_table
from nearpeak.report.tables import table_one
from nearpeak.results.results import Failure, Results

MOST_SENTENCES = 3
MOST_LETTERS = 40  # of the cause of a failure
MOST_LIBRARIES = 3  # with failed launches, named


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
    if rates := links(results, shown):
        yield Prose(rates, medium="details")
    if missing := gaps(results):
        yield Prose(missing, tone="muted")
    for text in far_behind(results):
        yield Prose(text)
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
        table = path_table(shown)
        yield replace(table, caption=f"{table.caption} {_also(results)}".strip())
    else:
        yield from _others(results)
    beside = imported.table(results)
    if beside.groups:
        yield replace(beside, name=beside.title.rstrip("."), caption="")
    if any(library.imported for library in results.libraries):
        yield from scopes(results)


def actions(results: Results, folder: Path) -> Iterator[Block]:
    """Yields what costs most."""
    if shown := list(cards(results, folder, poor(lines(results)))):
        yield Findings(shown)


def all_findings(results: Results) -> Findings:
    """Every finding, the costliest first."""
    return Findings([card(finding, results) for finding in results.findings])


def _others(results: Results) -> Iterator[Block]:
    """Yields what a study without messages measured: applications, families of operations, or
    what the paths carry without MPI."""
    for section in applications.sections(results):
        yield replace(_medians(section.table), head=section.name)
        yield Items(section.sentences, most=MOST_SENTENCES)
    for family in families(results):
        yield Items(family.sentences, family.title, most=MOST_SENTENCES)
    if not has_figures(results) and results.peaks:
        yield replace(table_one(results, results.peaks), title="", caption="")


def _also(results: Results) -> str:
    """Names what was measured besides messages; empty if nothing was."""
    titles = [*applications.names(results), *(title.lower() for title in titles_of(results))]
    return f"Also measured: {listed(titles)}." if titles else ""


def _medians(table: Table) -> Table:
    """A table of figures alone: without intervals, ranges, texts and caption."""
    groups = [Rows(group.title, [_median_row(row) for row in group.rows]) for group in table.groups]
    columns = [column for column in table.columns if column.figure]
    return replace(table, columns=columns, groups=groups, caption="", heads=True, compact=True)


def _median_row(row: Row) -> Row:
    values = {
        key: replace(value, ci95=None, range=None, notes=()) for key, value in row.values.items()
    }
    return replace(row, values=values)


def _failed(results: Results) -> str:
    """`7 launches failed: intel (6, SIGSEGV) and mpich (1, timeout), see logs/12.txt.`"""
    launches = grouped(results.failures, lambda failure: failure.who.label)
    names = [f"{name} ({len(ended)}, {_cause(ended[0])})" for name, ended in launches.items()]
    if left := len(names[MOST_LIBRARIES:]):
        names[MOST_LIBRARIES:] = [f"{left} more"]
    log = results.failures[0].log
    where = f", see {log}" if log else ""
    return f"{count(len(results.failures), 'launch')} failed: {listed(names)}{where}."


def _cause(failure: Failure) -> str:
    return textwrap.shorten(failure.cause or failure.status, MOST_LETTERS, placeholder="...")
