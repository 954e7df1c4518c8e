# SPDX-License-Identifier: Apache-2.0
"""A study in the terminal: Table 2, then what stands out, what failed, and where the report is."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nearpeak.identity import CEILING
from nearpeak.numbers import count, number, percent, printable, size, unit
from nearpeak.report import drift, failures, pairs, sessions, tables, wording
from nearpeak.report.advice import advice
from nearpeak.report.beside import Beside, Published, beside, here_words, lines, there_words
from nearpeak.report.headlines import Group, groups
from nearpeak.report.picture.links import measured, summed
from nearpeak.report.sections import Column, Value
from nearpeak.report.sections import Table as Section
from nearpeak.report.summary import defects, figures
from nearpeak.results.model import Results
from nearpeak.results.names import case
from nearpeak.study import awareness

_SHOWN = 8  # lines of failures, of defects, ...; the page has all of them
_FINDINGS = 5
_WIDTH = 80
_UNLIMITED = 10_000  # columns of a terminal in which nothing is folded
_EMPTY = Value("", "text")


def print_summary(
    results: Results,
    page: Path,
    console: Console | None = None,
    machines: Sequence[Published] = (),
) -> None:
    """Prints the summary of `results`; `page` is the report that it points to.

    `machines`: those whose published figures stand beside the study's.

    Never narrower than 80 columns: a line that wraps is better than a figure cut off.
    """
    console = console or Console(highlight=False, emoji=False, markup=False)
    if console.width < _WIDTH:
        console.width = _WIDTH
    console.print(_text(_study(results), "bold"))
    _print_links(results, console)
    console.print()
    found = groups(results)
    for sentence in advice(results, found):
        console.print(_text(sentence))
    for group in found:
        if group.place.pair:
            continue  # a matrix on the page, a line here
        console.print()
        console.print(_text(group.title, "bold"))
        for table in _tables(group, figures(results), console):
            console.print(table)
    console.print()
    for line in _notes(results, found):
        console.print(line)
    for machine in machines:
        _print_beside(beside(results, machine), console)
    if machines:
        console.print()
    console.print(Text.assemble("Report: ", (printable(str(page)), "bold")), soft_wrap=True)


def _text(text: str, style: str = "") -> Text:
    """Text that is printed as it is: names from outside are no markup."""
    return Text(printable(text), style=style)


def _study(results: Results) -> str:
    state = "" if results.complete else ", not complete"
    why = f": {results.ended}" if results.ended else ""
    if results.failures:
        why += f"; {count(len(results.failures), 'launch')} failed"
    return f"Study {results.study} on {results.machine.hostname}{state}{why}"


def _print_links(results: Results, console: Console) -> None:
    """What the picture of the machine says on the page: a row for each path."""
    rows = summed(measured(results))
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1), show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for row in rows:
        table.add_row(_text(f"{row.name}: {row.ends}"), _text(row.figures), _text(row.share))
    console.print()
    console.print(table)
    sizes = ", ".join(size(one) for one in sorted({row.size_bytes for row in rows}))
    said = f"bw of {sizes}, one direction: the best library, and its part of the ceiling"
    console.print(_text(said, "dim"))


def _tables(group: Group, order: list[str], console: Console) -> Iterator[Table]:
    """The tables of a group, each with as many figures side by side as fit."""
    section = tables.table_two([group], order)
    unlimited = console.options.update(width=_UNLIMITED)
    start = end = 0
    for _, span in section.spans:
        wider = _table(section, section.columns[start : end + span])
        if end > start and console.measure(wider, options=unlimited).maximum > console.width:
            yield _table(section, section.columns[start:end])
            start = end
        end += span
    if section.columns:
        yield _table(section, section.columns[start:])


def _table(section: Section, columns: Sequence[Column]) -> Table:
    """Some columns of a table without its caption."""
    shown = Table(box=None, pad_edge=False, padding=(0, 1), header_style="")
    shown.add_column("", overflow="fold", min_width=12)
    over = ""
    for column in columns:
        first, over = "" if column.over == over else column.over, column.over
        heading = Text("\n").join(map(_text, (first, column.title, column.unit)))
        shown.add_column(heading, justify="right", no_wrap=True, min_width=7)
    for row in (row for rows in section.groups for row in rows.rows):
        values = [row.values.get(column.key, _EMPTY) for column in columns]
        if row.ceiling and values == [_EMPTY] * len(values):
            continue
        style = "dim" if row.ceiling else ""
        shown.add_row(_text(row.head), *map(_value, values), style=style)
    return shown


def _value(value: Value) -> Text:
    """A value, and what stands below it: of a percentage there is no room for the interval."""
    span = "" if value.kind == "percent" else value.span
    lines = [
        f"{value.text}{'!' if value.tone == 'bad' and value.remark else ''}",
        span,
        *value.notes,
    ]
    style = "red" if value.tone == "bad" else ""
    return Text("\n").join(_text(line, style) for line in lines if line)


def _notes(results: Results, found: list[Group]) -> Iterator[Text]:
    yield _text(
        "Each value is that at the size in the heading; % of ceiling: of what the path carries"
        " without MPI at that same size; % of plateau: of its best at any size. [a, b]: a 95 %"
        " interval.",
        "dim",
    )
    if text := wording.windows(results):
        yield _text(text, "dim")
    with_cells = {group.place for group in found}
    for one in wording.headlines(results, found):
        for text in [one.first] if one.place in with_cells else one.sentences:
            if text:
                yield Text.assemble(_text(one.place.path, "bold"), ": ", _text(text))
    if text := sessions.sentence(results):
        yield _text(text, "yellow" if any(one.forced for one in results.sessions) else "dim")
    measured = [cell for cell in results.cells if cell.median is not None]
    few = sum(cell.ci95 is None for cell in measured)
    if few:
        yield _text(
            f"Fewer than 6 launches in {few} of {count(len(measured), 'cell')}:"
            " a range, no 95 % interval.",
            "dim",
        )
    if text := wording.precision(results):
        yield _text(text, "dim")
    for text in wording.missing_methods(results):
        yield _text(text, "yellow")
    slowest = pairs.sentences(pairs.matrices(results))
    yield from map(_text, slowest[:_SHOWN])
    yield from _more(len(slowest))
    yield from _awareness(results)
    yield from _findings(results)
    yield from _failures(results)
    yield from _defects(results)
    yield from _drift(results)


def _awareness(results: Results) -> Iterator[Text]:
    found = awareness.sentences(results.awareness)
    for line in found[:_SHOWN]:
        yield _text(line, "yellow")
    yield from _more(len(found))


def _findings(results: Results) -> Iterator[Text]:
    found = results.findings
    if not found:
        return
    yield _text("What stands out, the most time lost first:", "bold")
    for finding in found[:_FINDINGS]:
        yield _text(f"  {finding.sentence} {wording.lost(finding)}".rstrip())
    yield from _more(len(found), _FINDINGS)


def _failures(results: Results) -> Iterator[Text]:
    if not results.failures:
        return
    yield _text(f"{count(len(results.failures), 'launch')} failed:", "bold red")
    alike_ones = failures.alike(results.failures)
    for group in alike_ones[:_SHOWN]:
        item = group.first
        who = "ceiling" if item.who == CEILING else item.who.label
        where = " ".join([who, item.place.path, *group.benchmarks])
        others = len(group.launches) - 1
        alike = f" and {others} more alike" if others else ""
        yield _text(f"  launch {item.launch}{alike}, {where}: {item.status}: {group.message}")
        if item.log:
            yield _text(f"    {item.log}", "dim")
    yield from _more(len(alike_ones))


def _defects(results: Results) -> Iterator[Text]:
    found = defects(results)
    if not found:
        return
    yield _text(
        f"{count(len(found), 'cell')} above the ceiling (marked ! in the table): a defect of the"
        " ceiling, not a merit of the library:",
        "bold red",
    )
    for cell in found[:_SHOWN]:
        method = f" by {cell.ceiling.method}" if cell.ceiling else ""
        yield _text(
            f"  {cell.who.label} {cell.place.path} {case(cell.case)} {size(cell.case.x)}:"
            f" {percent(cell.fraction)} % of the ceiling{method}"
        )
    yield from _more(len(found))


def _drift(results: Results) -> Iterator[Text]:
    style = "yellow" if any(one.changed for one in results.drift) else ""
    lines = drift.sentences(results)
    for line in lines[:_SHOWN]:
        yield _text(f"Drift: {line}", style)
    yield from _more(len(lines))


def _more(count: int, shown: int = _SHOWN) -> Iterator[Text]:
    if count > shown:
        yield _text(f"  and {count - shown} more: see the report", "dim")


def _print_beside(found: Beside, console: Console) -> None:
    """Both tables of a study beside those of one published machine."""
    console.print()
    console.print(_text(f"Beside {found.machine.id}", "bold"))
    if found.table_one:
        console.print(_beside_one(found))
    if found.table_two:
        console.print(_beside_two(found))
    for line in lines(found):
        console.print(_text(line, "dim"))


def _heading(first: str, second: str) -> Text:
    return Text.assemble(_text(first), "\n", _text(second))


def _beside_one(found: Beside) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="")
    figures = ", ".join(dict.fromkeys(pair.figure for pair in found.table_one))
    table.add_column(_heading(f"{figures} without MPI", "GB/s"), overflow="fold", min_width=14)
    for who in ("here", found.machine.name):
        table.add_column(_heading(who, "theoretical"), justify="right")
        table.add_column(_heading("", "measured"), justify="right", no_wrap=True)
        table.add_column(_heading("% of", "theor."), justify="right", no_wrap=True)
    for pair in found.table_one:
        own = pair.own
        table.add_row(
            _text(pair.path),
            number(pair.own_theoretical_gbs),
            number(own.best.value if own else None),
            percent(own.fraction if own else None),
            number(pair.link.theoretical_gbs),
            number(pair.link.achievable_gbs),
            percent(pair.link.fraction),
        )
    return table


def _beside_two(found: Beside) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="")
    table.add_column(_text("best of MPI"), overflow="fold", min_width=14)
    table.add_column("", overflow="fold", min_width=10)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", overflow="fold", ratio=1)
    for pair in found.table_two:
        value = pair.cell.median if pair.cell else None
        for where, who, shown, words in (
            (f"{pair.path}, {pair.case}", "here", value, here_words(pair)),
            ("", found.machine.name, pair.value, there_words(pair)),
        ):
            figures = _text(f"{number(shown)} {unit(pair.unit)}")
            table.add_row(_text(where), _text(who), figures, _text(words))
    return table
