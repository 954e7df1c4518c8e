# SPDX-License-Identifier: Apache-2.0
"""A study in the terminal: Table 2, what stands out, the notices, and where the report is."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from rich.table import Table
from rich.text import Text

from nearpeak.console import PlainConsole
from nearpeak.numbers import count, printable, size
from nearpeak.picture.measured import summed
from nearpeak.report import (
    applications,
    findings,
    gpu_memory,
    imported,
    left_out,
    pairs,
    tables,
    wording,
)
from nearpeak.report.advice import advice
from nearpeak.report.beside import Published, beside, lines
from nearpeak.report.beside import tables as beside_tables
from nearpeak.report.families import families
from nearpeak.report.headlines import Group, groups
from nearpeak.report.notices import notices
from nearpeak.report.picture import measured
from nearpeak.report.sections import PAIRED, Column, Notice, Tone, Value
from nearpeak.report.sections import Table as Section
from nearpeak.results.order import figures
from nearpeak.results.results import Results

_SHOWN = 8  # lines of failures, of defects, ...; the page has all of them
_FINDINGS = 5
_LONGEST = 200  # characters of one of them: libraries may say a lot; the page has it
_WIDTH = 80
_EMPTY = Value("", "text")
_STYLES: dict[Tone, str] = {"bad": "bold red", "note": "yellow", "good": "green", "": "dim"}


def print_groups(section: Section, console: PlainConsole) -> None:
    """Prints a table, with each group under a heading, and its caption."""
    _print_groups(section, console)
    console.print(_text(section.caption, "dim"))


def _print_groups(section: Section, console: PlainConsole, name: str = "") -> None:
    for rows in section.groups:
        console.print()
        console.print(_text(f"{name}, {rows.title}" if name else rows.title, "bold"))
        _print_table(replace(section, groups=[rows]), console)


def print_summary(
    results: Results,
    page: Path | None,
    console: PlainConsole | None = None,
    machines: Sequence[Published] = (),
    study: Path = Path("DIR"),
) -> None:
    """Prints the summary of `results`; `page` is the report that it points to, if one was written.

    `machines`: those whose published figures are compared with the study's; `study`: its folder.

    Never narrower than 80 columns: a line that wraps is better than a figure cut off.
    """
    console = console or PlainConsole()
    if console.width < _WIDTH:
        console.width = _WIDTH
    console.print(_text(_study(results), "bold"))
    if text := wording.conditions(results):
        console.print(_text(text, _STYLES["bad"]))
    _print_links(results, console)
    console.print()
    table_groups = groups(results)
    for sentence in advice(results):
        console.print(_text(sentence))
    for group in table_groups:
        if group.place.pair:
            continue  # a matrix on the page, a line here
        console.print()
        held = f"  {group.place.held}" if group.place.held else ""
        console.print(Text.assemble(_text(group.title, "bold"), _text(held, "dim")))
        _print_table(tables.table_two([group], figures(results)), console)
    _print_families(results, console)
    _print_applications(results, console)
    _print_imported(results, console)
    console.print()
    for line in _notes(results, table_groups):
        console.print(line)
    for machine in machines:
        _print_beside(results, machine, console)
    _print_left_out(results, console)
    for notice in reversed(notices(results, study)):  # the most serious is read last
        _print_notice(notice, console)
    if page is not None:
        console.print(Text.assemble("Report: ", (printable(str(page)), "bold")), soft_wrap=True)


def _text(text: str, style: str = "") -> Text:
    """Text that is printed unmodified: names from outside are no markup."""
    return Text(printable(text), style=style)


def _study(results: Results) -> str:
    failed = f"; {count(len(results.failures), 'launch')} failed" if results.failures else ""
    subject = wording.subject(results)
    return f"{subject[0].upper()}{subject[1:]}: {wording.ending(results)}{failed}"


def _print_links(results: Results, console: PlainConsole) -> None:
    """Prints the figures of the machine's diagram as a table: a row for each path."""
    rows = summed(measured(results))
    if not rows:
        return
    table = Table(
        box=None, pad_edge=False, padding=(0, 1), collapse_padding=True, show_header=False
    )
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)  # "inside NUMA node 0" is no place without its number
    table.add_column(justify="right", no_wrap=True)
    fits = max(len(row.figures) for row in rows) <= console.width - 52  # so that names fold
    table.add_column(overflow="fold", no_wrap=fits)
    table.add_column(justify="right", no_wrap=True)
    for row in rows:
        name, message_size = _text(f"{row.name}:"), _text(size(row.size_bytes))
        table.add_row(name, _text(row.ends), message_size, _text(row.figures), _text(row.share))
    console.print()
    console.print(table)
    caption = (
        "Rate in one direction at this size: the best library, and its fraction of the ceiling (the"
        " median over blocks, which may differ from the ratio of both figures)"
    )
    if any(row.path.transport == "local" for row in rows):
        caption += "; of memory, what a copy moves, with each byte counted once"
    console.print(_text(caption, "dim"))


def _print_table(section: Section, console: PlainConsole) -> None:
    """Prints a table without title and caption; splits one that is too wide."""
    for columns in _fitting(section, console):
        console.print(_table(section, columns))


def _fitting(section: Section, console: PlainConsole) -> Iterator[list[Column]]:
    """The columns in parts of as many figures as fit side by side; a long text folds instead."""
    if any(column.long for column in section.columns):
        yield section.columns
        return
    start = end = 0
    for _, span in section.spans:
        wider = _table(section, section.columns[start : end + span])
        if end > start and console.whole_width(wider) > console.width:
            yield section.columns[start:end]
            start = end
        end += span
    if section.columns:
        yield section.columns[start:]


def _table(section: Section, columns: Sequence[Column]) -> Table:
    shown = Table(box=None, pad_edge=False, padding=(0, 1), header_style="")
    shown.add_column("", overflow="fold", min_width=12)
    for column, heading in zip(columns, _headings(columns), strict=True):
        _add_column(shown, column, heading)
    for row in (row for rows in section.groups for row in rows.rows):
        values = [row.values.get(column.key, _EMPTY) for column in columns]
        if values == [_EMPTY] * len(values):
            continue
        shown.add_row(_text(row.head), *map(_value, values), style="dim" if row.ceiling else "")
    return shown


def _headings(columns: Sequence[Column]) -> list[Text]:
    """The headings of the columns, on as many lines as any column needs."""
    spans = ["", *(column.over for column in columns)]
    headings = [
        ("" if column.over == before else column.over, column.title, column.unit)
        for before, column in zip(spans, columns, strict=False)
    ]
    used = [line for line in range(3) if any(map(itemgetter(line), headings))]

    def joined(heading: Sequence[str]) -> Text:
        return Text("\n").join(_text(heading[line]) for line in used)

    return list(map(joined, headings))


def _add_column(table: Table, column: Column, heading: Text) -> None:
    if column.long:
        table.add_column(heading, overflow="fold", ratio=1)
    elif column.figure:
        table.add_column(heading, justify="right", no_wrap=True, min_width=7)
    else:
        table.add_column(heading, overflow="fold", min_width=7)


def _value(value: Value) -> Text:
    """A value with the notes below it, without small print."""
    lines = [
        f"{value.text}{'!' if value.tone == 'bad' and value.remark else ''}",
        value.span,
        *value.notes,
    ]
    style = "red" if value.tone == "bad" else ""
    return Text("\n").join(_text(line, style) for line in lines if line)


def _print_families(results: Results, console: PlainConsole) -> None:
    """Prints the sentences of each family: fractions by place and library, and failures."""
    for family in families(results):
        console.print()
        console.print(_text(family.title, "bold"))
        for sentence in family.sentences[:_SHOWN]:
            console.print(_text(f"  {sentence}"))
        for line in _remainder(len(family.sentences)):
            console.print(line)


def _print_applications(results: Results, console: PlainConsole) -> None:
    for section in applications.sections(results):
        _print_groups(section.table, console, section.name)
        for sentence in section.sentences[:_SHOWN]:
            console.print(_text(f"  {sentence}"))
        for line in _remainder(len(section.sentences)):
            console.print(line)


def _notes(results: Results, table_groups: list[Group]) -> Iterator[Text]:
    yield _text(
        "Headings have the message size of the figures below. Ceiling: what the path carries"
        f" without MPI at that size. {tables.PLATEAU} [a, b]: 95 % interval. {PAIRED}",
        "dim",
    )
    if any(map(tables.has_bound, table_groups)):
        yield _text(tables.BOUND.strip(), "dim")
    if text := wording.windows(results):
        yield _text(text, "dim")
    for about in (wording.cached_plateaus, wording.cached_ceilings, wording.low_plateaus):
        if text := about(table_groups):
            yield _text(text, "dim")
    with_cells = {group.place for group in table_groups}
    for headline in wording.headlines(results, table_groups):
        measured = headline.place in with_cells
        sentences = [headline.first, headline.modes] if measured else headline.sentences
        for text in [*sentences, *headline.why]:
            if text:
                yield Text.assemble(_text(headline.place.path, "bold"), ": ", _text(text))
    for sentences in (gpu_memory.sentences(results), pairs.sentences(results)):
        yield from map(_text, sentences[:_SHOWN])
        yield from _remainder(len(sentences))
    yield from _findings(results)


def _findings(results: Results) -> Iterator[Text]:
    notable = wording.stands_out(results)
    if not notable:
        return
    yield _text(
        "What stands out (the largest certain losses first, what is no certain loss last):", "bold"
    )
    for finding in notable[:_FINDINGS]:
        parts = findings.sentence(finding), findings.lost(finding), findings.advised(finding)
        yield _text(f"  {' '.join(filter(None, parts))}")
    yield from _remainder(len(notable), _FINDINGS)


def _remainder(count: int, shown: int = _SHOWN) -> Iterator[Text]:
    if count > shown:
        yield _text(f"  and {count - shown} more: see the report", "dim")


def _print_imported(results: Results, console: PlainConsole) -> None:
    section = imported.table(results)
    if section.groups:
        console.print()
        console.print(_text(section.title, "bold"))
        print_groups(section, console)


def _print_left_out(results: Results, console: PlainConsole) -> None:
    section = left_out.table(results)
    if section.groups:
        console.print()
        console.print(_text(section.title, "bold"))
        _print_table(section, console)
        console.print(_text(section.caption, "dim"))


def _print_notice(notice: Notice, console: PlainConsole) -> None:
    """Prints a notice and its first details."""
    text = f"{notice.text} {notice.command}".rstrip()
    console.print(_text(text, _STYLES[notice.tone]))
    for item in notice.items[:_SHOWN]:
        console.print(_text(f"  {textwrap.shorten(item, _LONGEST)}"))
    for line in _remainder(len(notice.items)):
        console.print(line)


def _print_beside(results: Results, machine: Published, console: PlainConsole) -> None:
    """Prints both tables of a study next to those of one published machine."""
    comparison = beside(results, machine)
    console.print()
    console.print(_text(f"Beside {machine.id}", "bold"))
    for section in beside_tables(comparison):
        _print_table(section, console)
    for line in lines(comparison):
        console.print(_text(line, "dim"))
    console.print()
