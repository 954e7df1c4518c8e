# SPDX-License-Identifier: Apache-2.0
"""A diagram of the pairs of nodes: a triangle of cells, darker where a message takes longer.

The names of nodes stand on its diagonal: they end their rows and begin their columns.
"""

import math
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nearpeak.nodes.found import Map
from nearpeak.numbers import number, printable
from nearpeak.report.nodes import words

# The least ratio to the usual time of each class of cells; class 0: usual or faster.
STEPS = (1.05, 1.1, 1.25, 1.5, 2.0)
TITLED = 24  # most nodes in a row for a title on each cell
LINED = 64  # most cells in a row for lines between them
FIGURED = 8  # most nodes in a row for a figure in each cell
LINE, WIDE, NARROW = 13, 420, 220  # pixels: of a name, and of a map in a wide and a narrow window


def legend() -> list[str]:
    """The text of each class in the legend."""
    ends = [*STEPS[1:], None]
    parts = [f"{low:g} to {high:g}" if high else f"{low:g} and more" for low, high in
             zip(STEPS, ends, strict=True)]  # fmt: skip
    return [f"below {STEPS[0]:g}", *parts]


def draw(node_map: Map, nodes: Sequence[str]) -> str:
    """Returns HTML for a page: the cells as SVG with the text above it.

    All cells of a class share one SVG path, as there are many.
    """
    cells = len(node_map.rows)
    container = Element("div", {"class": "nodes-map"})
    root = SubElement(container, "svg", {"viewBox": f"0 0 {cells} {cells}", "role": "img"})
    root.set("class", "lined" if cells <= LINED else "dense")
    SubElement(root, "title").text = f"{words.name(node_map.metric)}, {node_map.mode}"
    titled = cells <= TITLED and node_map.side == 1
    classes: dict[str, list[str]] = {}
    for row, column, value in _cells(node_map):
        kind = _class(value)
        if titled and value is not None:
            cell = SubElement(root, "rect", _square(row, column, kind))
            title = f"{nodes[column]} - {nodes[row]}: {number(value)} times as long"
            SubElement(cell, "title").text = printable(title)
        else:
            classes.setdefault(kind, []).append(f"M{column} {row}h1v1h-1z")
    for kind, squares in classes.items():
        SubElement(root, "path", {"class": kind, "d": "".join(squares)})
    if cells <= FIGURED and node_map.side == 1:
        for row, column, value in _cells(node_map):
            kind = f"figure on-{_class(value)}"
            _write(container, kind, (column + 0.5) / cells, (row + 0.5) / cells, number(value))
    for row, shown, name in _names(node_map, nodes):
        label = _write(container, shown, row / cells, (row + 0.5) / cells, name)
        label.set("title", name)
    return ElementTree.tostring(container, encoding="unicode", short_empty_elements=False)


def has_gaps(node_map: Map) -> bool:
    """True if any cell has no value."""
    return any(value is None for _, _, value in _cells(node_map))


def _write(container: Element, kind: str, x: float, y: float, text: str) -> Element:
    """Adds text at fractions of the width and of the height; returns its element."""
    made = SubElement(container, "span", {"class": kind})
    made.set("style", f"left:{100 * x:.2f}%;top:{100 * y:.2f}%")
    made.text = printable(text)
    return made


def _names(node_map: Map, nodes: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """The number, CSS class and first node of as many rows as there is room for."""
    cells = len(node_map.rows)
    wide, narrow = (math.ceil(cells * LINE / room) for room in (WIDE, NARROW))
    short = _short(nodes)
    for row in range(0, cells, wide):
        kind = "node" if row // wide % math.ceil(narrow / wide) == 0 else "node rare"
        yield row, kind, short[row * node_map.side]


def _short(nodes: Sequence[str]) -> list[str]:
    """The names of nodes, without the domain if all share it."""
    domains = {node.partition(".")[2] for node in nodes}
    return [node.partition(".")[0] for node in nodes] if len(domains) == 1 else list(nodes)


def _cells(node_map: Map) -> Iterator[tuple[int, int, float | None]]:
    """Row, column and value of each cell; None if not measured. Skips an empty diagonal."""
    for row, values in enumerate(node_map.rows):
        for column, value in enumerate(values):
            if value is not None or column < row:
                yield row, column, value


def _class(value: float | None) -> str:
    return "none" if value is None else f"c{sum(value >= step for step in STEPS)}"


def _square(row: int, column: int, kind: str) -> dict[str, str]:
    return {"class": kind, "x": str(column), "y": str(row), "width": "1", "height": "1"}
