# SPDX-License-Identifier: Apache-2.0
"""docs/reference/csv.md, made of the columns of the CSV and the comments of their fields."""

from collections.abc import Iterable, Iterator

import msgspec

from nearpeak.cli.document.beginning import first
from nearpeak.markdown import code, codes, filled, linked, table
from nearpeak.report.columns import Column, columns_of, meaning
from nearpeak.report.export import CELLS, CONTEXT, LISTS, STUDY
from nearpeak.results.results import Application, Cell

BEGINNING = """The columns that `nearpeak report DIR --csv` writes: one row for each cell and each
application. A field is empty if the row has no such value: *null* below. Lists of figures are in
results.json only."""
RULES = """An interval or a range has two columns, which end in `_low` and `_high`. The columns of a
part begin with the name of its field. Texts, and pairs of a name and a value, are joined by `;`. A
text that a spreadsheet would take for a formula has an apostrophe before it. A carriage return
becomes a newline."""
OTHERS = """`--rows NAME` writes a row for each item of another list of results.json, by the same
rules: the columns of the study, then the fields of [the item](results.md). The lists:"""
MEANINGS = {
    "study": "id of the study; the first columns allow to join files of several studies",
    "started": "when it began, ISO 8601 in UTC",
    "host": "where it ran",
    "nearpeak": "version of Nearpeak that measured",
    "library_version": "version of the library",
    "ranks": "number of ranks of the path",
    "family": "family of the benchmark: `pt2pt`, `collective`, `rma`, ...",
    "standing": "at the headline's size: that of the best library, and of those tied with it"
    " ([Headline](results.md#headline)); otherwise empty",
    "problem_size": "of an application: the size of its problem, while `size_bytes` is empty",
    "problem_unit": "unit of `problem_size`",
    "plateau": "the best value of the ceiling at any size, in the host's memory beyond the caches;"
    " null: no rate, or it lies in the caches and the plateau does not",
}
HEADER = ("Columns", "Field", "Meaning")


def page() -> str:
    """The complete page."""
    cells = columns_of(Cell)
    more = {name: column for name, column in columns_of(Application).items() if name not in cells}
    lists = [name for name in LISTS if name != CELLS]
    return "\n".join(
        [
            first("Columns of the CSV", "csv", BEGINNING),
            f"{filled(RULES)}\n",
            f"## Of every row\n\n{table(HEADER[::2], _leading())}",
            f"## Of a cell\n\nThe fields of [Cell](results.md#cell).\n\n{_table(cells)}",
            "## Of an application\n\nThe fields of [Application](results.md#application), after"
            f" those of its cell.\n\n{_table(more)}",
            f"## Other lists\n\n{filled(f'{OTHERS} {codes(lists)}.')}\n",
        ]
    )


def _leading() -> Iterator[tuple[str, str]]:
    for name in (*STUDY, *CONTEXT):
        yield code(name), MEANINGS[name]


def _table(columns: dict[str, Column]) -> str:
    """A row for each field, with its columns."""
    rows: dict[tuple[type[msgspec.Struct], str, str], list[str]] = {}
    for name, column in columns.items():
        rows.setdefault((column.struct, column.name, _stem(name)), []).append(name)
    return table(HEADER, _rows(columns, rows.values()))


def _rows(
    columns: dict[str, Column], groups: Iterable[list[str]]
) -> Iterator[tuple[str, str, str]]:
    for names in groups:
        column = columns[names[0]]
        text = MEANINGS.get(names[0]) or linked(meaning(column))
        yield codes(names), code(column.field), text


def _stem(name: str) -> str:
    return name.removesuffix("_low").removesuffix("_high")
