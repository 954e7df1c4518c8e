# SPDX-License-Identifier: Apache-2.0
"""A comparison in the terminal: what differs, what changed on each path, and the conclusion."""

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
_NARROW = 0.02  # relative: a history that spans less is drawn as if it spanned so much


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
    """A bar for each session, those of the old side before a line."""
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
    found = words.differences(compared)
    if not found:
        yield words.NO_DIFFERENCE
        return
    yield Text("What differs between them:", style="bold")
    yield from (f"  {line}" for line in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"  and {len(found) - _SHOWN} more: see --html or --json"


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
        called = _called(place)
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


def _called(place: PlaceChange) -> dict[Curve, str]:
    """The curves in short where that is clear, else in full."""
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


def _row(table: Table, name: str, found: PlaceChange | CurveChange, compared: Compared) -> None:
    change = found.change
    style = {SLOWER: "red", FASTER: "green"}.get(change.verdict, "")
    fraction = "" if found.of_ceiling is None else words.ratio(found.of_ceiling)
    verdict = Text(words.verdict(change) + ("!" if change.regressed else ""), style=style)
    table.add_row(name, words.ratio(change), fraction, verdict, history(change, compared))


def _regressed(compared: Compared) -> list[str]:
    """Of each place that regressed: itself, or the curves and sizes that did."""
    found = []
    for place in compared.places:
        where = f"{place.who.label} on {place.place.path}"
        called = _called(place)
        if place.change.regressed:
            found.append(f"{where}, all curves: {words.sentence(place.change)}")
        for curve in place.curves:
            if curve.change.regressed:
                found.append(f"{where}, {called[curve.curve]}: {words.sentence(curve.change)}")
                continue
            found += [
                f"{where}, {called[curve.curve]} at {extent(cell.case.x, cell.x_unit)}:"
                f" {number(cell.old)} -> {number(cell.new)} {unit(cell.unit)},"
                f" {words.sentence(cell.change)}"
                for cell in curve.cells
                if cell.change.regressed
            ]
    return found


def _sizes(compared: Compared) -> list[str]:
    """Of each curve of which a size is faster or slower."""
    return [
        f"{place.who.label} on {place.place.path}, {_called(place)[curve.curve]}: {told}"
        for place in compared.places
        for curve in place.curves
        if (told := words.sizes(curve))
    ]


def _list(console: PlainConsole, title: str, lines: list[str]) -> None:
    if not lines:
        return
    console.print(title, style="bold")
    for line in lines[:_SHOWN]:
        console.print(f"  {line}")
    if len(lines) > _SHOWN:
        console.print(f"  and {len(lines) - _SHOWN} more: see --html or --json", style="dim")
