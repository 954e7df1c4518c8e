# SPDX-License-Identifier: Apache-2.0
"""The pairs of nodes as a picture: a triangle of cells, darker where a message takes longer, with
the names of nodes on its diagonal, which end their rows and begin their columns."""

import math
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nearpeak.nodes.found import Map
from nearpeak.numbers import number, printable
from nearpeak.report.nodes import words

# Times as long as usual, from which a cell is of a class: 0 is as usual, or faster.
STEPS = (1.05, 1.1, 1.25, 1.5, 2.0)
TITLED = 24  # nodes in a row, up to which every cell and row says what it is
LINED = 64  # cells in a row, up to which lines part them
TOLD = 8  # nodes, up to which every cell has its figure
LINE, WIDE, NARROW = 13, 420, 220  # pixels: of a name, and of a map in a wide and a narrow window


def legend() -> list[str]:
    """Of each class."""
    ends = [*STEPS[1:], None]
    parts = [f"{low:g} to {high:g}" if high else f"{low:g} and more" for low, high in
             zip(STEPS, ends, strict=True)]  # fmt: skip
    return [f"below {STEPS[0]:g}", *parts]


def draw(found: Map, nodes: Sequence[str]) -> str:
    """As HTML for a page: the cells as SVG, over it what is written. One path for all cells of a
    class, of which there are many."""
    cells = len(found.rows)
    whole = Element("div", {"class": "nodes-map"})
    root = SubElement(whole, "svg", {"viewBox": f"0 0 {cells} {cells}", "role": "img"})
    root.set("class", "lined" if cells <= LINED else "dense")
    SubElement(root, "title").text = f"{words.name(found.metric)}, {found.mode}"
    titled = cells <= TITLED and found.side == 1
    classes: dict[str, list[str]] = {}
    for row, column, value in _cells(found):
        kind = _class(value)
        if titled and value is not None:
            cell = SubElement(root, "rect", _square(row, column, kind))
            told = f"{nodes[column]} - {nodes[row]}: {number(value)} times as long"
            SubElement(cell, "title").text = printable(told)
        else:
            classes.setdefault(kind, []).append(f"M{column} {row}h1v1h-1z")
    for kind, squares in classes.items():
        SubElement(root, "path", {"class": kind, "d": "".join(squares)})
    if cells <= TOLD and found.side == 1:
        for row, column, value in _cells(found):
            _write(whole, f"figure on-{_class(value)}", (column + 0.5) / cells, (row + 0.5) / cells,
                   number(value))  # fmt: skip
    for at, shown, name in _names(found, nodes):
        label = _write(whole, shown, at / cells, (at + 0.5) / cells, name)
        label.set("title", name)
    return ElementTree.tostring(whole, encoding="unicode", short_empty_elements=False)


def lacks(found: Map) -> bool:
    """Whether there are cells without a value."""
    return any(value is None for _, _, value in _cells(found))


def _write(whole: Element, kind: str, x: float, y: float, text: str) -> Element:
    """At a part of the width and one of the height."""
    made = SubElement(whole, "span", {"class": kind})
    made.set("style", f"left:{100 * x:.2f}%;top:{100 * y:.2f}%")
    made.text = printable(text)
    return made


def _names(found: Map, nodes: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Of as many rows as there is room for: its number, how it is drawn, and its first node."""
    cells = len(found.rows)
    wide, narrow = (math.ceil(cells * LINE / room) for room in (WIDE, NARROW))
    short = _short(nodes)
    for row in range(0, cells, wide):
        kind = "node" if row // wide % math.ceil(narrow / wide) == 0 else "node rare"
        yield row, kind, short[row * found.side]


def _short(nodes: Sequence[str]) -> list[str]:
    """Without the domain, where all are in one."""
    domains = {node.partition(".")[2] for node in nodes}
    return [node.partition(".")[0] for node in nodes] if len(domains) == 1 else list(nodes)


def _cells(found: Map) -> Iterator[tuple[int, int, float | None]]:
    """Row, column and value; of one that was not measured None, but a node beside itself."""
    for row, values in enumerate(found.rows):
        for column, value in enumerate(values):
            if value is not None or column < row:
                yield row, column, value


def _class(value: float | None) -> str:
    return "none" if value is None else f"c{sum(value >= step for step in STEPS)}"


def _square(row: int, column: int, kind: str) -> dict[str, str]:
    return {"class": kind, "x": str(column), "y": str(row), "width": "1", "height": "1"}
