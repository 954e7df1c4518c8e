# SPDX-License-Identifier: Apache-2.0
"""A study in the terminal: Table 2, then failures, defects, drift and where the report is."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nearpeak.numbers import count, number, percent, printable, size
from nearpeak.report.summary import (
    Best,
    Group,
    defects,
    headlines,
    is_defect,
    table_two,
)
from nearpeak.results.model import CeilingPoint, Results
from nearpeak.results.names import label

_SHOWN = 8  # lines of failures and of defects; the page has all of them
_ABREAST = 3  # benchmarks side by side that fit into 80 columns
_WIDTH = 80


def print_summary(results: Results, page: Path, console: Console | None = None) -> None:
    """Prints the summary of `results`; `page` is the report that it points to.

    Never narrower than 80 columns: a line that wraps is better than a figure cut off.
    """
    console = console or Console(highlight=False, emoji=False, markup=False)
    if console.width < _WIDTH:
        console.width = _WIDTH
    console.print(_text(_study(results), "bold"))
    for group in table_two(results):
        console.print()
        console.print(_text(group.title, "bold"))
        for table in _tables(group):
            console.print(table)
    console.print()
    for line in _notes(results):
        console.print(line)
    console.print(Text.assemble("Report: ", (printable(str(page)), "bold")), soft_wrap=True)


def _text(text: str, style: str = "") -> Text:
    """Text that is printed as it is: names from outside are no markup."""
    return Text(printable(text), style=style)


def _study(results: Results) -> str:
    state = "" if results.complete else ", not complete"
    return f"Study {results.study} on {results.machine.hostname}{state}"


def _tables(group: Group) -> Iterator[Table]:
    names = group.benchmarks
    for start in range(0, len(names), _ABREAST):
        yield _table(group, names[start : start + _ABREAST])


def _table(group: Group, names: list[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="")
    table.add_column("", overflow="fold", min_width=14)
    for name in names:
        heading = Text.assemble(_text(name), "\n", _text(group.unit(name)))
        table.add_column(heading, justify="right", no_wrap=True, min_width=7)
        table.add_column("% of\nceiling", justify="right", no_wrap=True, min_width=7)
    for who, row in group.rows:
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
        "Each figure is the best over the message sizes (for latency the lowest); % of ceiling:"
        " of what the path carries without MPI at that same size.",
        "dim",
    )
    for path, text in headlines(results):
        if path not in {cell.path for cell in results.cells}:
            yield Text.assemble(_text(path, "bold"), ": ", _text(text))
    measured = [cell for cell in results.cells if cell.median is not None]
    few = sum(cell.ci95 is None for cell in measured)
    if few:
        yield _text(
            f"{few} of {count(len(measured), 'cell')} have fewer than 6 launches:"
            " a range, no 95 % interval.",
            "dim",
        )
    yield from _failures(results)
    yield from _defects(results)
    yield from _drift(results)


def _failures(results: Results) -> Iterator[Text]:
    failures = results.failures
    if not failures:
        return
    yield _text(f"{count(len(failures), 'launch')} failed:", "bold red")
    for item in failures[:_SHOWN]:
        who = label(item.library, item.settings) if item.library else "ceiling"
        where = " ".join(part for part in (who, item.path, item.benchmark) if part)
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
            f"  {label(cell.library, cell.settings)} {cell.path} {cell.benchmark}"
            f" {size(cell.size_bytes)}: {percent(cell.fraction)} % of the ceiling{method}"
        )
    yield from _more(len(found))


def _drift(results: Results) -> Iterator[Text]:
    if not results.drift:
        return
    flagged = [str(item.block) for item in results.drift if item.flagged]
    widest = max(abs(item.deviation) for item in results.drift)
    text = f"Drift: {count(len(results.drift), 'block')}, the copy probe within {percent(widest)} %"
    text += " of the median block"
    if flagged:
        yield _text(f"{text}; flagged: block {', '.join(flagged)}.", "yellow")
    else:
        yield _text(f"{text}; none flagged.")


def _more(count: int) -> Iterator[Text]:
    if count > _SHOWN:
        yield _text(f"  and {count - _SHOWN} more: see the report", "dim")
