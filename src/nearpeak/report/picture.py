# SPDX-License-Identifier: Apache-2.0
"""The diagram of the machine in the HTML report: the ceiling and the best library of each path, at
the largest message size of the libraries."""

from collections.abc import Iterator
from dataclasses import replace
from string import ascii_letters

from nearpeak.numbers import count, percent, spread
from nearpeak.picture.canvas import NARROW, WIDE
from nearpeak.picture.layout import layout
from nearpeak.picture.measured import Measured, ends_words, is_drawn
from nearpeak.picture.svg import inline
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.order import default_curves, first_sheet, places
from nearpeak.results.results import CeilingPoint, Cell, Headline, Reference, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.buffers import on_host
from nearpeak.terms.identity import Case, Curve
from nearpeak.terms.path import DataPath
from nearpeak.terms.subjects import one_way

PAIRED = "Shares are medians over launches: they may differ from the ratio of the two rates."
Way = tuple[bool, ...]  # a direction: whether each end is in the host's memory


def picture(results: Results) -> str:
    """Two drawings as SVG, of which report.css shows the one that fits the window; empty if nothing
    is known about the machine."""
    if not (results.machine.cores or results.machine.gpus):
        return ""
    rows = measured(results)
    notes = [] if all(row.divides for row in rows) else [PAIRED]
    return "".join(
        inline(layout(results.machine, rows, width, notes), name)
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    )


def measured(results: Results) -> list[Measured]:
    """The rows of all paths between two ends, in the order of the tables; of pairs, the slowest of
    each kind.

    Only one-way rates count, in the default curves of the first sheet, without benchmarks that
    stage their messages themselves. The headlines of the results select the library and the size.
    """
    by_place = {path.place: path for path in results.paths}
    paths = [path for place in places(results) if (path := by_place.get(place)) and is_drawn(path)]
    rows = [row for path in paths if not path.pair for row in _rows(results, path).values()]
    rows += _of_pairs(results, [path for path in paths if path.pair])
    lettered: list[Measured] = []
    letters: dict[str, str] = {}
    for row in rows:
        # All memories share a letter: the nodes at which it stands distinguish them.
        key = row.path.transport if row.path.transport == "local" else row.path.id
        if key in letters or len(letters) < len(ascii_letters):
            letter = letters.setdefault(key, ascii_letters.swapcase()[len(letters)])
            lettered.append(replace(row, letter=letter))
    return lettered


def _of_pairs(results: Results, paths: list[DataPath]) -> Iterator[Measured]:
    """The slowest pair of each kind in each direction; a matrix shows which pairs have a figure."""
    kinds: dict[tuple[str, Way], list[Measured]] = {}
    for path in paths:
        for way, row in _rows(results, path).items():
            kinds.setdefault((path.place.kind, way), []).append(row)
    for rows in kinds.values():
        with_figures = [row for row in rows if row.value is not None] or rows
        slowest = min(with_figures, key=lambda row: row.value or row.ceiling or 0.0)
        name = f"{slowest.name}, slowest of {count(len(with_figures), 'pair')}"
        shares = sorted(row.fraction for row in with_figures if row.fraction is not None)
        if len(shares) > 1:
            name += f" ({percent(shares[0])} to {percent(shares[-1])} %)"
        yield replace(slowest, name=name)


def _rows(results: Results, path: DataPath) -> dict[Way, Measured]:
    """The row of each direction, for the kind of buffers with the highest rate."""
    comparable, first = one_way(results.benchmarks), set(first_sheet(results))
    headlines = {
        headline.case.curve: headline
        for headline in results.headlines
        if headline.place == path.place
    }
    rows = [
        _of_headline(results, path, headlines[curve])
        for curve in default_curves(results)
        if curve in first
        and comparable(curve)
        and staging(curve.axes) is None
        and curve in headlines
    ] or [_of_ceiling(results, path, curve) for curve in _of_ceilings(results, path)[:1]]
    best: dict[Way, Measured] = {}
    for way, row in rows:
        if row and (way not in best or (row.value or 0.0) > (best[way].value or 0.0)):
            best[way] = row
    return best


def _of_ceilings(results: Results, path: DataPath) -> list[Curve]:
    """The curves of a path on which no library was measured."""
    comparable = one_way(results.benchmarks)
    points = [point for point in results.ceilings if point.place == path.place and not point.fact]
    return list(
        dict.fromkeys(
            point.case.curve
            for point in points
            if point.better == "higher"
            and (path.transport == "local" or comparable(point.case.curve))
        )
    )


def _of_headline(
    results: Results, path: DataPath, headline: Headline
) -> tuple[Way, Measured | None]:
    """The row of a headline: its size, and the best library there."""
    native = {info.name for info in results.libraries if info.native}
    cells = [
        cell
        for cell in results.cells
        if (cell.place, cell.case) == (path.place, headline.case)
        and cell.median is not None
        and cell.who.library not in native
    ]
    best = next((cell for cell in cells if cell.who == headline.best), None)
    top, unit = headline.ceiling, headline.unit
    way, row = _row(results, path, headline.case, top, best, unit, measured=bool(cells))
    return way, row and replace(row, tied=bool(best and headline.tied))


def _of_ceiling(results: Results, path: DataPath, curve: Curve) -> tuple[Way, Measured | None]:
    """The row of a curve without a library: the ceiling of its largest message."""
    points = Ceilings(results.ceilings).curve(path.place, curve)
    top = points[-1]
    return _row(results, path, top.case, top, None, top.unit, measured=False)


def _row(
    results: Results,
    path: DataPath,
    case: Case,
    top: CeilingPoint | Reference | None,
    best: Cell | None,
    unit: str,
    *,
    measured: bool,
) -> tuple[Way, Measured | None]:
    way = on_host(case.buffers)
    if top is None and best is None:
        return way, None
    return way, Measured(
        letter="",
        path=path,
        name=path.id,
        ends=ends_words(results.machine, path, turned=way == (False, True)),
        size_bytes=case.x,
        unit=unit,
        ceiling=top.value if top else None,
        who=best.who.label if best else None,
        value=best.median if best else None,
        fraction=best.fraction if best else None,
        why="" if best else _no_value_reason(results, path, measured=measured),
        spread=(
            spread(best.fraction_ci95, best.fraction_range, 100, best.fraction_blocks)
            if best
            else ""
        ),
        confirmed=best is None or best.fraction is None or best.fraction_ci95 is not None,
    )


def _no_value_reason(results: Results, path: DataPath, *, measured: bool) -> str:
    if path.transport == "local":
        return "no MPI"
    if measured:
        return "no library that can be believed"
    failed = sum(failure.place == path.place for failure in results.failures)
    return f"no library: {count(failed, 'launch')} failed" if failed else "no library measured"
