# SPDX-License-Identifier: Apache-2.0
"""A diagram of the pairs of nodes: a triangle of cells, darker where a message takes longer.

The names of nodes stand on its diagonal: they end their rows and begin their columns.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

from nearpeak.document.model import Drawing
from nearpeak.nodes import wording
from nearpeak.nodes.found import Found, Map
from nearpeak.numbers import number, printable

# The least ratio to the usual time of each class of cells; class 0: usual or faster.
STEPS = (1.05, 1.1, 1.25, 1.5, 2.0)
TITLED = 24  # most nodes in a row for a title on each cell
LINED = 64  # most cells in a row for lines between them
FIGURED = 8  # most nodes in a row for a figure in each cell
LINE, WIDE, NARROW = 13, 420, 220  # pixels: of a name, and of a map in a wide and a narrow window
STYLE = """
.maps { display: grid; gap: 1.6rem; margin-top: 1rem; }
.maps { grid-template-columns: repeat(auto-fill, minmax(min(100%, 34rem), 1fr)); }
.nodes-map { position: relative; margin: .6rem 7.5rem 0 0; }
.nodes-map svg { display: block; width: 100%; height: auto; shape-rendering: crispEdges; }
.nodes-map .lined * { stroke: var(--bg); stroke-width: 1px; vector-effect: non-scaling-stroke; }
.nodes-map .group-end { fill: none; stroke: var(--fg); stroke-width: 1.5px;
  vector-effect: non-scaling-stroke; pointer-events: none; }
.nodes-map .row { fill: none; stroke: none; pointer-events: all; }
.none { fill: var(--sunken); background: var(--sunken); }
.c0 { fill: #d3e2ef; background: #d3e2ef; } .c1 { fill: #fde0a6; background: #fde0a6; }
.c2 { fill: #fdbb63; background: #fdbb63; } .c3 { fill: #f0803c; background: #f0803c; }
.c4 { fill: #cf3f2b; background: #cf3f2b; } .c5 { fill: #7f0f1f; background: #7f0f1f; }
.nodes-map span { position: absolute; font-size: .72rem; line-height: 1; white-space: nowrap; }
.nodes-map .node { transform: translateY(-50%); padding-left: .3rem; line-height: 1.2;
  max-width: 9rem; overflow: hidden; text-overflow: ellipsis; }
.nodes-map .slow { font-weight: 700; }
.nodes-map .figure { transform: translate(-50%, -50%); color: #1c1d1f; pointer-events: none; }
.nodes-map .on-c4, .nodes-map .on-c5 { color: #fff; }
.nodes-map .on-none { color: var(--muted); }
figcaption i { display: inline-block; width: 1rem; height: .8rem; margin: 0 .3rem 0 .8rem; }
@media (max-width: 40rem) {
  .nodes-map .rare { display: none; } .nodes-map .node { max-width: 7.8rem; }
}
"""


def drawing(results: Found) -> Drawing:
    """All maps side by side; the marks say how many times as long as usual."""
    slow = wording.slow_nodes(results)
    figure = Markup("<figure><figcaption><b>{}</b></figcaption>{}</figure>")
    nodes, ends = results.mapped, _ends(results)
    figures = [
        figure.format(wording.title(results, one), draw(one, nodes, slow, ends))
        for one in results.maps
    ]
    markup = Markup('<div class="maps">{}</div>').format(Markup().join(figures))
    ranges = [f"{low:g} to {high:g}" for low, high in pairwise(STEPS)]
    texts = [f"below {STEPS[0]:g}", *ranges, f"{STEPS[-1]:g} and more"]
    legend = [(f"c{index}", text) for index, text in enumerate(texts)]
    if any(map(_has_gaps, results.maps)):
        legend.append(("none", "not measured"))
    return Drawing(markup, "Times as long as usual:", legend=legend)


def _ends(results: Found) -> list[int]:
    """The nodes after which a smallest group ends, in the order of the map."""
    if not results.levels:
        return []
    groups = {
        node: number
        for number, group in enumerate(results.levels[0].groups)
        for node in group.nodes
    }
    pairs = enumerate(pairwise(results.order), start=1)
    return [place for place, (before, after) in pairs if groups[before] != groups[after]]


def draw(
    node_map: Map, nodes: Sequence[str], slow: Sequence[str] = (), ends: Sequence[int] = ()
) -> Markup:
    """Draws the cells as SVG, with names of nodes above it, of `slow` ones in any case; figures,
    too, if these are few. `ends`: nodes after which a line ends their group."""
    cells = len(node_map.rows)
    container = Element("div", {"class": "nodes-map"})
    _add_cells(container, node_map, nodes)
    _add_lines(container, [end / node_map.side for end in ends], cells)
    if cells <= FIGURED and node_map.side == 1:
        for row, column, value in _cells(node_map):
            kind = f"figure on-{class_of(value)}"
            _write(container, kind, (column + 0.5) / cells, (row + 0.5) / cells, number(value))
    for row, kind, name in _names(node_map, nodes, slow):
        written = _write(container, kind, row / cells, (row + 0.5) / cells, name)
        written.set("title", printable(name))
    text = ElementTree.tostring(container, encoding="unicode", short_empty_elements=False)
    return Markup(text)  # already escaped


def _add_cells(container: Element, node_map: Map, nodes: Sequence[str]) -> None:
    """Adds the SVG. Cells without a title share one path for each class, as there are many."""
    cells = len(node_map.rows)
    root = SubElement(container, "svg", {"viewBox": f"0 0 {cells} {cells}", "role": "img"})
    root.set("class", "lined" if cells <= LINED else "dense")
    SubElement(root, "title").text = f"{wording.name(node_map.metric)}, {node_map.mode}"
    titled = cells <= TITLED and node_map.side == 1
    squares: dict[str, list[str]] = {}
    for row, column, value in _cells(node_map):
        kind = class_of(value)
        if titled and value is not None:
            title = f"{nodes[column]} - {nodes[row]}: {number(value)} times as long"
            cell = SubElement(root, "rect", {"class": kind, "x": str(column), "y": str(row)})
            cell.attrib |= {"width": "1", "height": "1"}
            SubElement(cell, "title").text = printable(title)
        else:
            squares.setdefault(kind, []).append(f"M{column} {row}h1v1h-1z")
    for kind, paths in squares.items():
        SubElement(root, "path", {"class": kind, "d": "".join(paths)})
    if not titled:
        _add_rows(root, node_map, nodes)


def _add_lines(container: Element, ends: Sequence[float], cells: int) -> None:
    """Adds a line below and to the right of the last node of each group."""
    root = container.find("svg")
    if root is None or not ends:
        return
    lines = "".join(f"M0 {end:g}H{end:g}V{cells}" for end in ends)
    SubElement(root, "path", {"class": "group-end", "d": lines})


def _add_rows(root: Element, node_map: Map, nodes: Sequence[str]) -> None:
    """Adds an invisible bar over each row, whose title names its nodes."""
    side = node_map.side
    for row in range(len(node_map.rows)):
        ends = (nodes[row * side], nodes[min((row + 1) * side, len(nodes)) - 1])
        bar = SubElement(root, "rect", {"class": "row", "y": str(row), "height": "1"})
        bar.set("width", str(row + 1))
        SubElement(bar, "title").text = printable(" to ".join(dict.fromkeys(ends)))


def _has_gaps(node_map: Map) -> bool:
    return any(value is None for _, _, value in _cells(node_map))


def _write(container: Element, kind: str, x: float, y: float, text: str) -> Element:
    """Adds text at fractions of the width and of the height; returns its element."""
    made = SubElement(container, "span", {"class": kind})
    made.set("style", f"left:{100 * x:.2f}%;top:{100 * y:.2f}%")
    made.text = printable(text)
    return made


def _names(
    node_map: Map, nodes: Sequence[str], slow: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """The number, CSS class and name of as many rows as there is room for: of the slow nodes, and
    of the first nodes of others. Slow nodes without room between them share a line."""
    cells = len(node_map.rows)
    wide, narrow = (math.ceil(cells * LINE / room) for room in (WIDE, NARROW))
    short = len({node.partition(".")[2] for node in nodes}) == 1
    lines: dict[int, list[str]] = {}
    for row, name in sorted((nodes.index(name) // node_map.side, name) for name in slow):
        last = max(lines, default=-wide)
        lines.setdefault(row if row >= last + wide else last, []).append(name)
    slow_rows = set(lines)
    for row in range(0, cells, wide):
        if all(abs(row - other) >= wide for other in slow_rows):
            lines[row] = [nodes[row * node_map.side]]
    kept: list[int] = []  # in a narrow window, too
    for row in [*slow_rows, *sorted(lines.keys() - slow_rows)]:
        if all(abs(row - other) >= narrow for other in kept):
            kept.append(row)
    for row, names in sorted(lines.items()):
        kind = f"node{' slow' * (row in slow_rows)}{' rare' * (row not in kept)}"
        yield row, kind, ", ".join(name.partition(".")[0] if short else name for name in names)


def _cells(node_map: Map) -> Iterator[tuple[int, int, float | None]]:
    """Row, column and value of each cell; None if not measured. Skips an empty diagonal."""
    for row, values in enumerate(node_map.rows):
        for column, value in enumerate(values):
            if value is not None or column < row:
                yield row, column, value


def class_of(value: float | None) -> str:
    """The CSS class of a cell."""
    return "none" if value is None else f"c{sum(value >= step for step in STEPS)}"
