# SPDX-License-Identifier: Apache-2.0
"""A comparison in the terminal: differences, changes on each path, and the conclusion."""

from collections import Counter
from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from nearpeak.compare.compared import Change, Compared, CurveChange, PlaceChange
from nearpeak.console import PlainConsole
from nearpeak.numbers import extent, number, unit
from nearpeak.report.compared import words
from nearpeak.results.names import case, label
from nearpeak.statistics.verdicts import EQUIVALENT, FASTER, SLOWER, UNDECIDED
from nearpeak.terms.identity import Curve

_SHOWN = 12  # lines of each list; the page has all of them
_WIDTH = 80
_BARS = "▁▂▃▄▅▆▇█"
_NARROW = 0.02  # relative: the least span that a drawing shows


def print_compared(
    compared: Compared, console: PlainConsole | None = None, *, status: int = 0
) -> None:
    """Prints a comparison; its last line says whether anything regressed, and the exit status.

    Never narrower than 80 columns: a line that wraps is better than a figure cut off.
    """
    console = console or PlainConsole()
    if console.width < _WIDTH:
        console.width = _WIDTH
    console.print(f"Before: {words.side(compared, 'old')}")
    console.print(f"Now:    {words.side(compared, 'new')}")
    for line in _differences(compared):
        console.print(line)
    console.print(words.sessions(compared), style="yellow")
    for place, group in words.by_place(compared):
        console.print()
        console.print(place.path, style="bold")
        console.print(_table(group, compared))
    console.print()
    console.print(
        "new/old: above 1, the new side is better, in latency too; [a, b] is a 95 % interval.\n"
        "fraction: the same ratio for the fraction of the ceiling, where blocks measured both.\n"
        "verdict: ! means regressed, surely slower by more than the tolerance.\n"
        "history: a bar for each session, old | new.",
        style="dim",
    )
    for title, lines in (
        ("Regressed:", _regressed(compared)),
        ("Sizes that changed:", _sizes(compared)),
        ("Possible reasons of what is slower:", words.reasons(compared)),
        ("Failed now:", words.failures(compared.failures)),
        ("Not measured now:", words.missing(compared)),
        ("Not compared:", words.unmatched(compared)),
        (words.FRACTIONS, words.fractions(compared)),
        (words.DISTANCES, words.distances(compared)),
    ):
        _list(console, title, lines)
    console.print(
        words.last_line(compared, status), style="bold red" if compared.regressed else "bold"
    )


def history(change: Change, compared: Compared) -> str:
    """A bar for each session; a vertical line separates the old side from the new one."""
    measured = [value for value in change.history if value is not None]
    low, high = min(measured), max(measured)
    span = max(high - low, _NARROW)
    middle = (high + low) / 2
    bars = [
        " " if value is None else _BARS[min(7, int(8 * ((value - middle) / span + 0.5)))]
        for value in change.history
    ]
    split = compared.count("old")
    return "".join(bars[:split]) + "|" + "".join(bars[split:])


def _differences(compared: Compared) -> Iterator[Text | str]:
    lines = words.differences(compared)
    if not lines:
        yield words.NO_DIFFERENCE
        return
    yield Text("What differs between them:", style="bold")
    yield from (f"  {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"  and {len(lines) - _SHOWN} more: see --html or --json"


def _table(places: Iterable[PlaceChange], compared: Compared) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="")
    table.add_column("", overflow="fold", min_width=14)
    table.add_column("new/old", no_wrap=True)
    table.add_column("fraction", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("history", overflow="fold")
    for place in places:
        _row(table, place.who.label, place, compared)
        shown = [curve for curve in place.curves if _worth_a_line(curve)]
        called = _curve_names(place)
        for curve in shown[:_SHOWN]:
            _row(table, f"  {called[curve.curve]}", curve, compared)
        if rest := len(place.curves) - len(shown[:_SHOWN]):
            others = [curve for curve in place.curves if curve not in shown[:_SHOWN]]
            table.add_row(
                f"  {words.portion(rest, len(place.curves), 'curve')}",
                "",
                "",
                _verdicts(others),
                "",
                style="dim",
            )
    return table


def _curve_names(place: PlaceChange) -> dict[Curve, str]:
    """The short names of curves, and full ones where short ones would be ambiguous."""
    short = Counter(case(curve.curve) for curve in place.curves)
    return {
        curve.curve: case(curve.curve) if short[case(curve.curve)] == 1 else label(curve.curve)
        for curve in place.curves
    }


def _worth_a_line(curve: CurveChange) -> bool:
    return curve.change.verdict not in (EQUIVALENT, UNDECIDED) or any(
        change.regressed for change in curve.changes
    )


def _verdicts(curves: Iterable[CurveChange]) -> str:
    kinds = [words.verdict(curve.change) for curve in curves]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds) if kind)


def _row(table: Table, name: str, entry: PlaceChange | CurveChange, compared: Compared) -> None:
    change = entry.change
    style = {SLOWER: "red", FASTER: "green"}.get(change.verdict, "")
    fraction = "" if entry.of_ceiling is None else words.ratio(entry.of_ceiling)
    verdict = Text(words.verdict(change) + ("!" if change.regressed else ""), style=style)
    table.add_row(name, words.ratio(change), fraction, verdict, history(change, compared))


def _regressed(compared: Compared) -> list[str]:
    """A line for each place, curve or size that regressed."""
    lines = []
    for place in compared.places:
        subject = f"{place.who.label} on {place.place.path}"
        called = _curve_names(place)
        if place.change.regressed:
            lines.append(f"{subject}, all curves: {words.sentence(place.change)}")
        for curve in place.curves:
            if curve.change.regressed:
                lines.append(f"{subject}, {called[curve.curve]}: {words.sentence(curve.change)}")
                continue
            lines += [
                f"{subject}, {called[curve.curve]} at {extent(cell.case.x, cell.x_unit)}:"
                f" {number(cell.old)} -> {number(cell.new)} {unit(cell.unit)},"
                f" {words.sentence(cell.change)}"
                for cell in curve.cells
                if cell.change.regressed
            ]
    return lines


def _sizes(compared: Compared) -> list[str]:
    """A line for each curve of which a size is faster or slower."""
    return [
        f"{place.who.label} on {place.place.path}, {_curve_names(place)[curve.curve]}: {text}"
        for place in compared.places
        for curve in place.curves
        if (text := words.sizes(curve))
    ]


def _list(console: PlainConsole, title: str, lines: list[str]) -> None:
    if not lines:
        return
    console.print(title, style="bold")
    for line in lines[:_SHOWN]:
        console.print(f"  {line}")
    if len(lines) > _SHOWN:
        console.print(f"  and {len(lines) - _SHOWN} more: see --html or --json", style="dim")
