# SPDX-License-Identifier: Apache-2.0
"""A study in the terminal: Table 2, then what stands out, what failed, and where the report is."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nearpeak.identity import CEILING
from nearpeak.numbers import count, number, percent, printable, size, unit
from nearpeak.report import drift, pairs, sessions
from nearpeak.report.beside import Beside, Published, beside, here_words, lines, there_words
from nearpeak.report.picture.links import measured, summed
from nearpeak.report.summary import (
    Best,
    Group,
    defects,
    headlines,
    lost,
    missing_methods,
    precision,
    table_one,
    table_two,
    windows,
)
from nearpeak.results.cells import is_defect
from nearpeak.results.model import CeilingPoint, Results
from nearpeak.results.names import case
from nearpeak.study import awareness

_SHOWN = 8  # lines of failures, of defects, ...; the page has all of them
_FINDINGS = 5
_ABREAST = 3  # benchmarks side by side that fit into 80 columns
_WIDTH = 80


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
    for group in table_two(results):
        if group.place.pair:
            continue  # a matrix on the page, a line here
        console.print()
        console.print(_text(group.title, "bold"))
        for table in _tables(group):
            console.print(table)
    console.print()
    for line in _notes(results):
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


def _tables(group: Group) -> Iterator[Table]:
    names = group.figures
    for start in range(0, len(names), _ABREAST):
        yield _table(group, names[start : start + _ABREAST])


def _table(group: Group, names: list[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="")
    table.add_column("", overflow="fold", min_width=14)
    for name in names:
        heading = Text.assemble(_text(name), "\n", _text(group.unit(name)))
        table.add_column(heading, justify="right", no_wrap=True, min_width=7)
        table.add_column("% of\nceiling", justify="right", no_wrap=True, min_width=7)
    for who, row in group.all_rows:
        table.add_row(_text(who), *(text for name in names for text in _figures(row.get(name))))
    if group.ceilings:
        figures = (text for name in names for text in _ceiling(group.ceilings.get(name)))
        table.add_row("ceiling's best", *figures, style="dim")
    return table


def _figures(best: Best | None) -> list[Text]:
    if best is None:
        return [_text(number(None)), _text(number(None))]
    style = "red" if is_defect(best.cell) else ""
    mark = "!" if is_defect(best.cell) else ""
    return [_text(number(best.cell.median)), _text(percent(best.cell.fraction) + mark, style)]


def _ceiling(point: CeilingPoint | None) -> list[Text]:
    return [_text("none" if point is None else number(point.value)), _text("")]


def _notes(results: Results) -> Iterator[Text]:
    yield _text(
        "Each rate is the best over the message sizes, each latency that of the smallest message"
        " that is not empty; % of ceiling: of what the path carries without MPI at that same size.",
        "dim",
    )
    if text := windows(results):
        yield _text(text, "dim")
    with_cells = {cell.place for cell in results.cells}
    for place, text in headlines(results):
        if place not in with_cells:
            yield Text.assemble(_text(place.path, "bold"), ": ", _text(text))
    if text := sessions.sentence(results):
        yield _text(text, "yellow" if any(one.forced for one in results.sessions) else "dim")
    measured = [cell for cell in results.cells if cell.median is not None]
    few = sum(cell.ci95 is None for cell in measured)
    if few:
        yield _text(
            f"{few} of {count(len(measured), 'cell')} have fewer than 6 launches:"
            " a range, no 95 % interval.",
            "dim",
        )
    if text := precision(results):
        yield _text(text, "dim")
    for text in missing_methods(results):
        yield _text(text, "yellow")
    yield from _health(results)
    slowest = pairs.sentences(pairs.matrices(results))
    yield from map(_text, slowest[:_SHOWN])
    yield from _more(len(slowest))
    yield from _awareness(results)
    yield from _findings(results)
    yield from _failures(results)
    yield from _defects(results)
    yield from _drift(results)


def _health(results: Results) -> Iterator[Text]:
    for row in table_one(results):
        if row.suspect:
            yield _text(
                f"Worth a look: {row.place.path} carries {number(row.best.value)} GB/s"
                f" ({row.best.case.figure} {row.best.case.buffers}) without MPI at"
                f" {size(row.best.case.x)}, {percent(row.fraction)} %"
                f" of its theoretical {number(row.theoretical_gbs)} GB/s"
                + (f" ({row.convention})." if row.convention else "."),
                "yellow",
            )


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
        yield _text(f"  {finding.sentence} {lost(finding)}".rstrip())
    yield from _more(len(found), _FINDINGS)


def _failures(results: Results) -> Iterator[Text]:
    failures = results.failures
    if not failures:
        return
    yield _text(f"{count(len(failures), 'launch')} failed:", "bold red")
    for item in failures[:_SHOWN]:
        who = "ceiling" if item.who == CEILING else item.who.label
        where = " ".join([who, item.place.path, *item.benchmarks])
        yield _text(f"  launch {item.launch}, {where}: {item.status}: {item.message}")
        if item.log:
            yield _text(f"    {item.log}", "dim")
    yield from _more(len(failures))


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
