# SPDX-License-Identifier: Apache-2.0
"""The table of bytes that links counted, compared with the payload."""

from collections.abc import Iterator

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import count, number, size
from nearpeak.report.families import named
from nearpeak.results.results import Cell, Results
from nearpeak.terms.counters import KINDS, LABELS, LinkKind
from nearpeak.terms.identity import Place, Who


def table(results: Results) -> Table:
    """By path, a row for the largest message of each library, benchmark and buffers; no rows if
    nothing was counted."""
    shown = _largest(results)
    kinds = [kind for kind in KINDS if any(_times(cell, kind) is not None for cell in shown)]
    by_path = grouped(shown, lambda cell: cell.place)
    return Table(
        title="Bytes on links, in times of the payload.",
        caption=(
            "The bytes that each kind of links counted in one direction while the largest message"
            " of each benchmark was measured and verified, over the payload sent in that time;"
            " median over launches. 1: each byte crossed such a link once. 0: it took another way."
            " ≥: the counter may have wrapped. docs/reference/counters.md"
        ),
        head="Library and benchmark",
        columns=[Column("size", "Size"), *(Column(kind, LABELS[kind]) for kind in kinds)],
        groups=[Rows(place.path, list(_rows(cells, kinds))) for place, cells in by_path.items()],
        folded="Which way the bytes went: counters of links beside the payload",
    )


def sentences(results: Results) -> list[str]:
    """The links that were read, the cost of a reading, and what could not be read, with why."""
    counting = results.counting
    if counting is None:
        return []
    read = grouped(counting.links, lambda link: link.kind)
    names = ", ".join(
        f"{count(len(links), 'link')} of {LABELS[kind]}" for kind, links in read.items()
    )
    cost = (
        "" if counting.reading_us is None else f"; a reading takes {number(counting.reading_us)} µs"
    )
    lines = [f"Counted between the cases: {names}{cost}."] if names else []
    return lines + [
        f"Not counted on {unread.host}: {LABELS[unread.kind]}: {unread.why}."
        for unread in counting.unread
    ]


def _largest(results: Results) -> list[Cell]:
    """The cells with counts and payload, of each curve the largest message."""
    best: dict[tuple[Who, Place, object], Cell] = {}
    for cell in results.cells:
        if cell.counted is None or not cell.counted.payload_bytes:
            continue
        key = cell.who, cell.place, cell.case.curve
        if key not in best or best[key].case.x < cell.case.x:
            best[key] = cell
    return list(best.values())


def _rows(cells: list[Cell], kinds: list[LinkKind]) -> Iterator[Row]:
    curves = [cell.case.curve for cell in cells]
    for cell in cells:
        values = {"size": Value(size(cell.case.x), "text")}
        for kind in kinds:
            values[kind] = _value(cell, kind)
        name = f"{named(cell.case.curve, curves)} {cell.case.buffers}"
        yield Row(f"{cell.who.label}, {name}", values)


def _times(cell: Cell, kind: LinkKind) -> float | None:
    return None if cell.counted is None else cell.counted.times.get(kind)


def _value(cell: Cell, kind: LinkKind) -> Value:
    times = _times(cell, kind)
    if times is None:
        return Value(None)
    least = "≥ " if cell.counted and kind in cell.counted.at_least else ""
    return Value(f"{least}{times:.2f}" if times < 100 else f"{least}{number(times)}", "text")
