# SPDX-License-Identifier: Apache-2.0
"""The pairs of nodes as a picture: a triangle of cells, darker where a message takes longer."""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nearpeak.nodes.found import Map
from nearpeak.numbers import number, printable
from nearpeak.report.nodes import words

# Times as long as usual, from which a cell is of a class: 0 is as usual, or faster.
STEPS = (1.05, 1.1, 1.25, 1.5, 2.0)
WIDTH = 640.0
TITLED = 24  # nodes in a row, up to which every cell and row says what it is


def legend() -> list[str]:
    """Of each class."""
    ends = [*STEPS[1:], None]
    parts = [f"{low:g} to {high:g}" if high else f"{low:g} and more" for low, high in
             zip(STEPS, ends, strict=True)]  # fmt: skip
    return [f"below {STEPS[0]:g}", *parts]


def draw(found: Map, nodes: Sequence[str]) -> str:
    """As SVG for a page. One path for all cells of a class, of which there are many."""
    cells = len(found.rows)
    root = Element("svg", {"viewBox": f"0 0 {cells} {cells}", "role": "img", "class": "nodes-map"})
    root.set("width", f"{WIDTH:g}")
    SubElement(root, "title").text = f"{words.name(found.metric)}, {found.mode}"
    SubElement(root, "rect", {"class": "none", "width": str(cells), "height": str(cells)})
    titled = cells <= TITLED and found.side == 1
    classes: dict[int, list[str]] = {}
    for row, column, value in _cells(found):
        kind = sum(value >= step for step in STEPS)
        if titled:
            cell = SubElement(root, "rect", _square(row, column, kind))
            told = f"{nodes[column]} - {nodes[row]}: {number(value)} times as long"
            SubElement(cell, "title").text = printable(told)
        else:
            classes.setdefault(kind, []).append(f"M{column} {row}h1v1h-1z")
    for kind, squares in sorted(classes.items()):
        SubElement(root, "path", {"class": f"c{kind}", "d": "".join(squares)})
    return ElementTree.tostring(root, encoding="unicode")


def _cells(found: Map) -> Iterator[tuple[int, int, float]]:
    for row, values in enumerate(found.rows):
        for column, value in enumerate(values):
            if value is not None:
                yield row, column, value


def _square(row: int, column: int, kind: int) -> dict[str, str]:
    return {"class": f"c{kind}", "x": str(column), "y": str(row), "width": "1", "height": "1"}
