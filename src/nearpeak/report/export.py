# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: CSV of every cell, and LaTeX of the tables."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import get_args, get_origin, get_type_hints

import msgspec

from nearpeak.document import latex
from nearpeak.errors import UserError
from nearpeak.observations.imported import SOME_RANKS
from nearpeak.report import applications, awareness, fits, tables, verdicts
from nearpeak.report.columns import Getter, fields, flat
from nearpeak.report.families import families
from nearpeak.report.headlines import groups
from nearpeak.results import order
from nearpeak.results.results import Application, Cell, Headline, Results
from nearpeak.terms.benchmarks import Benchmark

CELLS = "cells"
Columns = dict[str, object]
# The study of a row, for files of several studies.
STUDY: dict[str, Getter] = {
    "study": lambda results: results.study,
    "started": lambda results: results.started,
    "host": lambda results: results.machine.hostname,
    "nearpeak": lambda results: results.nearpeak,
}
CONTEXT = ("library_version", "ranks", "family", "standing", "problem_size", "problem_unit")
LISTS = {
    name: item
    for name, declared in get_type_hints(Results).items()
    if get_origin(declared) is list and issubclass(item := get_args(declared)[0], msgspec.Struct)
}
# A spreadsheet evaluates a text that begins with one; the last four are full-width signs.
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def to_csv(results: Results, rows: str = CELLS) -> str:
    """A row for each cell and application, or for each item of another list of the results, with
    the columns of `columns()` (docs/reference/csv.md). A null is an empty field.

    UserError: `rows` is no such list.
    """
    if rows not in LISTS:
        raise UserError(f"results have no rows of {rows}: they have {', '.join(LISTS)}")
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns(rows), lineterminator="\n")
    writer.writeheader()
    records = _cells(results) if rows == CELLS else map(flat, getattr(results, rows))
    study = {name: value(results) for name, value in STUDY.items()}
    writer.writerows(_inert(study | row) for row in records)
    return stream.getvalue()


def columns(rows: str = CELLS) -> list[str]:
    """The columns that `to_csv` writes for a list of the results."""
    kinds = (Cell, Application) if rows == CELLS else (LISTS[rows],)
    leading = [*STUDY, *(CONTEXT if rows == CELLS else ())]
    return list(dict.fromkeys([*leading, *(name for kind in kinds for name in fields(kind))]))


def _cells(results: Results) -> Iterator[Columns]:
    """The rows of cells and applications, with the columns of `CONTEXT` from the other results."""
    versions = {library.name: library.version for library in results.libraries}
    benchmarks = {benchmark.name: benchmark for benchmark in results.benchmarks}
    headlines = {(headline.place, headline.case): headline for headline in results.headlines}
    for cell in results.cells:
        yield {
            **_context(cell, versions, benchmarks),
            **flat(cell),
            "standing": _standing(cell, headlines.get((cell.place, cell.case))),
        }
    for application in results.applications:
        size, unit = application.cell.case.x, benchmarks[application.cell.case.benchmark].x.unit
        problem: Columns = {"size_bytes": None, "problem_size": size, "problem_unit": unit}
        yield _context(application.cell, versions, benchmarks) | flat(application) | problem


def _context(
    cell: Cell, versions: Mapping[str, str], benchmarks: Mapping[str, Benchmark]
) -> Columns:
    return {
        "library_version": versions.get(cell.who.library),
        "ranks": None if cell.place.path == SOME_RANKS else len(cell.place.ends),
        "family": benchmarks[cell.case.benchmark].family,
    }


def _inert(row: Columns) -> Columns:
    """The row with each text as a spreadsheet takes no formula from it."""
    return {
        name: _inert_text(value) if isinstance(value, str) else value for name, value in row.items()
    }


def _inert_text(text: str) -> str:
    """Puts an apostrophe before a text that would be a formula. A carriage return becomes a
    newline: csv does not quote it, so that it would end the row."""
    text = text.replace("\r", "\n")
    return f"'{text}" if text[:1] in _FORMULA else text


def _standing(cell: Cell, headline: Headline | None) -> str:
    """The standing of a headline, for its best cell and those tied with it; else empty."""
    if headline is None or cell.who not in (headline.best, *headline.tied):
        return ""
    return headline.standing


def to_latex(results: Results) -> str:
    """The two tables, then the tables of applications, families, GPU-awareness, verdicts and fits
    that are not empty.

    For a document that loads the package booktabs.
    """
    theory = (peak for peak in results.peaks if not peak.fact)
    others = [section.table for section in applications.sections(results)]
    others += [family.table for family in families(results)]
    others += [awareness.table(results), *verdicts.main(results), fits.table(results)]
    shown = [
        tables.table_one(results, theory),
        tables.table_two(groups(results), order.figures(results)),
        *(table for table in others if table.groups),
    ]
    return "\n".join(map(latex.to_latex, shown))
