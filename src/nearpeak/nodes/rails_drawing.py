# SPDX-License-Identifier: Apache-2.0
"""A diagram of the GPUs of all nodes: a row for each node, a column for each rail, darker where
messages of a GPU take longer."""

from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

from nearpeak.document.model import Drawing
from nearpeak.nodes import map as maps
from nearpeak.nodes import wording
from nearpeak.nodes.found import Found, RailMap
from nearpeak.numbers import number, printable

NAMED = 64  # most rows with a name each
STYLE = """
.rail-maps { display: flex; flex-wrap: wrap; gap: 1.6rem; }
.rail-maps table { border-collapse: collapse; }
.rail-maps td { width: 14px; height: 14px; padding: 0; border: 1px solid var(--bg); }
.rail-maps.dense td { height: 3px; border-width: 0 1px; }
.rail-maps th { font-size: .72rem; font-weight: 400; padding: 0 .3rem; text-align: right; }
.rail-maps th.slow { font-weight: 700; }
"""


def drawing(results: Found) -> Drawing:
    """All maps side by side."""
    figure = Markup("<figure><figcaption><b>{}</b></figcaption>{}</figure>")
    figures = [
        figure.format(
            f"{wording.name(gpus.metric)}, {wording.MODE_TITLES[gpus.mode]}",
            _draw(results, gpus),
        )
        for gpus in results.rail_maps
    ]
    dense = " dense" if len(results.rail_maps[0].rows) > NAMED else ""
    markup = Markup('<div class="rail-maps{}">{}</div>').format(dense, Markup().join(figures))
    ranges = [f"{low:g} to {high:g}" for low, high in pairwise(maps.STEPS)]
    texts = [f"below {maps.STEPS[0]:g}", *ranges, f"{maps.STEPS[-1]:g} and more"]
    legend = [(f"c{index}", text) for index, text in enumerate(texts)]
    return Drawing(markup, "Times as long as usual:", legend=legend)


def _draw(results: Found, rail_map: RailMap) -> Markup:
    table = Element("table")
    head = SubElement(table, "tr")
    SubElement(head, "th")
    for rail in results.rails:
        SubElement(head, "th").text = printable(rail.gpu)
    slow = set(wording.slow_nodes(results))
    for row, values in enumerate(rail_map.rows):
        names = results.mapped[row * rail_map.side : (row + 1) * rail_map.side]
        _add_row(table, results, names, values, slow, named=len(rail_map.rows) <= NAMED)
    return Markup(ElementTree.tostring(table, encoding="unicode", short_empty_elements=False))


def _add_row(
    table: Element,
    results: Found,
    names: list[str],
    values: list[float | None],
    slow: set[str],
    *,
    named: bool,
) -> None:
    """Adds a row. Of many rows only those with a slow node have a name."""
    line = SubElement(table, "tr")
    head = SubElement(line, "th")
    shown = [name for name in names if name in slow] or names[:1]
    if slow & set(names):
        head.set("class", "slow")
    if named or slow & set(names):
        head.text = printable(", ".join(shown))
    for rail, value in zip(results.rails, values, strict=True):
        cell = SubElement(line, "td", {"class": maps.class_of(value)})
        if value is not None and named:
            cell.set("title", printable(f"{shown[0]}, GPU {rail.gpu}: {number(value)} times"))
