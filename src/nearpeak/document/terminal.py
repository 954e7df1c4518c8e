# SPDX-License-Identifier: Apache-2.0
"""A document on the terminal."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import singledispatch
from operator import itemgetter
from pathlib import Path

from rich.table import Table as Grid
from rich.text import Text

from nearpeak.console import UNLIMITED, PlainConsole
from nearpeak.document.model import (
    Bar,
    Block,
    Code,
    Column,
    Document,
    Findings,
    Heading,
    Items,
    Notice,
    Prose,
    Row,
    Table,
    Terms,
    Tone,
    Value,
    for_terminal,
)
from nearpeak.numbers import printable

NARROWEST = 80  # columns: a line that wraps is better than a figure cut off
PLACES = 8  # of a bar
INDENT = "   "  # of a finding, below its number
LONGEST = 200  # characters of an item of a notice: the page has all
ITEMS = 8  # of a list, where it does not say otherwise
_EMPTY = Value("", "text")
_STYLES: dict[Tone, str] = {
    "bad": "bold red",
    "note": "yellow",
    "good": "green",
    "muted": "dim",
    "": "",
}


def widened(console: PlainConsole | None) -> PlainConsole:
    """Returns this console, or a new one, with at least 80 columns."""
    console = console or PlainConsole()
    console.width = max(console.width, NARROWEST)
    return console


def print_document(
    document: Document,
    page: Path | None = None,
    console: PlainConsole | None = None,
    *,
    verbose: bool = False,
) -> None:
    """Prints what a document has for the terminal, with `verbose` the details before it. `page`:
    its page, if that was written."""
    console = widened(console)
    for section in for_terminal(document.sections, verbose=verbose):
        console.print()
        if section.title:
            console.print(plain(section.title, "bold"))
        for before, block in zip([None, *section.blocks], section.blocks, strict=False):
            if isinstance(before, Findings):
                console.print()
            print_block(block, console)
    conclusion = document.conclusion.removesuffix(".") if page else document.conclusion
    if ending := "; ".join(filter(None, [conclusion, str(page or "")])):
        console.print()
        console.print(plain(ending, "bold red" if document.bad else "bold"), soft_wrap=True)


@singledispatch
def print_block(block: Block, _: PlainConsole) -> None:
    """Prints one block; TypeError for one that is for the page alone."""
    raise TypeError(f"{type(block).__name__} is for the page alone")


@print_block.register
def _(block: Prose, console: PlainConsole) -> None:
    style = "bold" if block.strong and not block.tone else _STYLES[block.tone]
    console.print(plain(block.text, style))


@print_block.register
def _(block: Heading, console: PlainConsole) -> None:
    console.print()
    console.print(plain(block.text, "bold"))


@print_block.register
def _(block: Items, console: PlainConsole) -> None:
    if block.title and block.lines:
        console.print(plain(block.title, "bold"))
    for line in block.lines[: block.most]:
        console.print(plain(f"  {line}"))
    for rest in remainder(len(block.lines), block.most, block.elsewhere):
        console.print(rest)


@print_block.register
def _(block: Code, console: PlainConsole) -> None:
    console.print(plain(f"{block.title} {block.text}".lstrip()), soft_wrap=True)


@print_block.register
def _(block: Findings, console: PlainConsole) -> None:
    console.print(plain(block.title, "bold"))  # or an empty line
    for number, finding in enumerate(block.findings, 1):
        _print_indented(f"{number}. {finding.labelled}", console, "bold")
        together = f"{INDENT}{finding.remedy} {finding.command}"
        if not finding.command:
            _print_indented(together.rstrip(), console)
        elif len(together) <= console.width:
            console.print(plain(together))
        else:  # the command is one line, to be copied
            _print_indented(f"{INDENT}{finding.remedy}", console)
            console.print(plain(f"{INDENT}{finding.command}"), soft_wrap=True)


def _print_indented(text: str, console: PlainConsole, style: str = "") -> None:
    """Prints a text, if any, whose lines but the first are indented; in a file on one line."""
    width = UNLIMITED if console.soft_wrap else console.width
    for line in textwrap.wrap(
        printable(text), width, subsequent_indent=INDENT, break_on_hyphens=False
    ):
        console.print(plain(line, style))


@print_block.register
def _(block: Terms, console: PlainConsole) -> None:
    for name, text in block.entries:
        console.print(plain(f"{name}: {text}", "dim"))


@print_block.register
def _(block: Notice, console: PlainConsole) -> None:
    text = f"{block.text} {block.command}".rstrip()
    console.print(plain(text, _STYLES[block.tone] or "dim"))
    print_block(items_of(block), console)


@print_block.register
def _(block: Table, console: PlainConsole) -> None:
    for part in [block] if block.compact else _parts(block):
        if part.groups:
            console.print()
        if part.name:
            console.print(plain(part.name, "bold"))
        print_rows(part, console)
    if block.groups and block.caption:
        console.print(plain(block.caption, "dim"))


def _parts(table: Table) -> Iterator[Table]:
    """Yields a table for each group, under its title."""
    for group in table.groups:
        name = ", ".join(filter(None, [table.name, group.title]))
        yield replace(table, groups=[group], name=name)


def plain(text: str, style: str = "") -> Text:
    """Text that is printed unmodified: names from outside are no markup."""
    return Text(printable(text), style=style)


def items_of(notice: Notice) -> Items:
    """The items of a notice, each shortened."""
    return Items([textwrap.shorten(item, LONGEST) for item in notice.items])


def remainder(count: int, shown: int = ITEMS, elsewhere: str = "see the report") -> Iterator[Text]:
    """Yields a line about those that are not shown, if there are any."""
    if count > shown:
        yield plain(f"  and {count - shown} more: {elsewhere}", "dim")


def print_rows(table: Table, console: PlainConsole) -> None:
    """Prints a table without title and caption; splits one that is too wide."""
    for columns in _fitting(table, console):
        console.print(_grid(table, columns))


def _fitting(table: Table, console: PlainConsole) -> Iterator[list[Column]]:
    """Yields the columns in parts of as many figures as fit side by side; a long text folds."""
    if any(column.long for column in table.columns):
        yield table.columns
        return
    start = end = 0
    for _, span in table.spans:
        wider = _grid(table, table.columns[start : end + span])
        if end > start and console.whole_width(wider) > console.width:
            yield table.columns[start:end]
            start = end
        end += span
    if table.columns:
        yield table.columns[start:]


def _grid(table: Table, columns: Sequence[Column]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 1), header_style="")
    grid.add_column(plain(table.head if table.heads else ""), overflow="fold", min_width=12)
    for column, heading in zip(columns, _headings(columns), strict=True):
        _add_column(grid, column, heading)
    for group in table.groups:
        if table.compact and group.title:
            grid.add_row(plain(group.title, "bold"))
        for row in group.rows:
            _add_row(grid, row, columns)
    return grid


def _add_row(grid: Grid, row: Row, columns: Sequence[Column]) -> None:
    """Adds a row, unless it has nothing in these columns."""
    values = [row.values.get(column.key, _EMPTY) for column in columns]
    if values == [_EMPTY] * len(values):
        return
    style = "dim" if row.ceiling else "bold" if row.strong else ""
    grid.add_row(plain(row.head), *map(_text, values), style=style)


def _headings(columns: Sequence[Column]) -> list[Text]:
    """The headings of the columns, on as many lines as any column needs."""
    spans = ["", *(column.over for column in columns)]
    headings = [
        ("" if column.over == before else column.over, column.title, column.unit)
        for before, column in zip(spans, columns, strict=False)
    ]
    used = [line for line in range(3) if any(map(itemgetter(line), headings))]

    def joined(heading: Sequence[str]) -> Text:
        return Text("\n").join(plain(heading[line]) for line in used)

    return list(map(joined, headings))


def _add_column(grid: Grid, column: Column, heading: Text) -> None:
    if column.long:
        grid.add_column(heading, overflow="fold", ratio=1)
    elif column.figure:
        grid.add_column(heading, justify="right", no_wrap=True, min_width=4)
    else:
        grid.add_column(heading, overflow="fold", min_width=7)


def bar(drawn: Bar) -> str:
    """`█████|··`: eight places, of which a mark takes one; pale if it is unconfirmed."""
    filled = round(PLACES * min(1.0, drawn.share))
    places = [*("█" if drawn.confirmed else "░") * filled, *"·" * (PLACES - filled)]
    if drawn.mark is not None:
        places[min(PLACES - 1, int(PLACES * drawn.mark))] = "|"
    return "".join(places)


def _text(value: Value) -> Text:
    """A value with the notes below it, without small print."""
    if value.bar:
        return plain(f"{bar(value.bar)} {value.text}".rstrip(), _CELL_STYLES.get(value.tone, ""))
    lines = [
        f"{value.text}{'!' if value.tone == 'bad' and value.remark else ''}",
        value.span,
        *value.notes,
    ]
    style = _CELL_STYLES.get(value.tone, "")
    return Text("\n").join(plain(line, style) for line in lines if line)


_CELL_STYLES: dict[Tone, str] = {"bad": "red", "good": "green", "muted": "dim"}
