# SPDX-License-Identifier: Apache-2.0
"""The table of a conformance run on the terminal."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from nearpeak.conform.conformance import Conformance, Tried
from nearpeak.console import PlainConsole
from nearpeak.report.conformed import words
from nearpeak.terms.outcomes import GOOD, NOT_TRIED

LISTED = 20  # failures of a library; the page has all


def print_conformance(conformance: Conformance, page: Path | None) -> None:
    """Prints a table for each library: the operations that do not work in every memory."""
    console = PlainConsole()
    for tried in conformance.libraries:
        console.print(f"\n{tried.label} {tried.version}: {words.totals(tried)}", style="bold")
        table = _table(conformance, tried)
        if table.row_count:
            console.print(table)
        failures = words.failures(tried)
        for failure in failures[:LISTED]:
            console.print(f"{failure.cases}: {failure.evidence}")
        if len(failures) > LISTED:
            console.print(f"... and {len(failures) - LISTED} more, all of them on the page")
        for end in tried.bad_ends:
            console.print(words.bad_end(end))
    suffix = "" if page is None else f"; {page}"
    console.print(f"\n{words.conclusion(conformance)}{suffix}", soft_wrap=True)


def _table(conformance: Conformance, tried: Tried) -> Table:
    table = Table("Operation", box=None, pad_edge=False)
    for memory in conformance.memories:
        table.add_column(words.memory_label(memory))
    for operation in conformance.operations:
        cells = [words.outcomes_in(tried, operation, memory) for memory in conformance.memories]
        if any(words.worst(cell) not in ("", GOOD, NOT_TRIED) for cell in cells):
            row = [Text(words.cell(cell), style=_style(words.worst(cell))) for cell in cells]
            table.add_row(operation.name, *row)
    return table


def _style(status: str) -> str:
    return {GOOD: "green", NOT_TRIED: "dim", "": "dim"}.get(status, "bold red")
