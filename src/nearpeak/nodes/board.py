# SPDX-License-Identifier: Apache-2.0
"""The first picture of the page, to be read from far away: what is slow, and in which group."""

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

from nearpeak.document.model import Drawing
from nearpeak.nodes import wording
from nearpeak.nodes.found import Found
from nearpeak.numbers import count, number, printable

MOST = 8  # culprits with a name
STYLE = """
.board .culprits { display: flex; flex-wrap: wrap; gap: .6rem; margin: .8rem 0; }
.board .culprits b { background: #7f0f1f; color: #fff; border-radius: .4rem; padding: .5rem 1rem;
  font-size: 1.8rem; line-height: 1.2; overflow-wrap: anywhere; }
.board .healthy { background: #1f6b3a; color: #fff; border-radius: .4rem; padding: .5rem 1rem;
  font-size: 1.8rem; display: inline-block; }
.board .tiles { display: grid; gap: .6rem; }
.board .tiles { grid-template-columns: repeat(auto-fill, minmax(min(100%, 9.5rem), 1fr)); }
.board .tile { border: 3px solid #d3e2ef; border-radius: .4rem; padding: .4rem .5rem;
  font-size: .85rem; overflow-wrap: anywhere; }
.board .tile.slow { border-color: #7f0f1f; } .board .tile.has { border-color: #f0803c; }
.board .units { display: flex; flex-wrap: wrap; gap: 2px; margin-top: .3rem; }
.board .units i { width: 9px; height: 9px; background: #d3e2ef; }
.board .units i.slow { background: #7f0f1f; width: 18px; height: 18px; }
"""


def drawing(results: Found) -> Drawing:
    """Culprits, then a tile for each smallest group, those with a culprit first: a square for each
    of its nodes."""
    board = Element("div", {"class": "board"})
    _culprits(board, results)
    if results.levels:
        tiles = SubElement(board, "div", {"class": "tiles"})
        for tile in sorted(_tiles(results), key=_rank):
            tiles.append(tile)
    text = ElementTree.tostring(board, encoding="unicode", short_empty_elements=False)
    return Drawing(Markup(text))  # already escaped


def _culprits(board: Element, results: Found) -> None:
    worst = {what: verdicts[0] for what, verdicts in wording.culprits(results).items()}
    if not worst:
        if results.judged and results.complete and not results.bad:
            text = "No node and no link is slow" if len(results.rails) == 2 else "Nothing is slow"
            SubElement(board, "div", {"class": "healthy"}).text = text
        return
    line = SubElement(board, "div", {"class": "culprits"})
    for what, verdict in list(worst.items())[:MOST]:
        SubElement(line, "b").text = printable(f"{what} × {number(verdict.times)}")
    if len(worst) > MOST:
        SubElement(line, "b").text = f"and {len(worst) - MOST} more"


def _tiles(results: Found) -> Iterator[Element]:
    level = results.levels[0]
    ends = {name for verdict in results.verdicts for name in verdict.nodes}
    slow_nodes = set(wording.slow_nodes(results))
    slow_groups = {
        name for verdict in results.verdicts if verdict.level == 0 for name in verdict.groups
    }
    for group in level.groups:
        names = [results.nodes[node] for node in group.nodes]
        kind = "slow" if group.name in slow_groups else "has" if ends & set(names) else "usual"
        tile = Element("div", {"class": f"tile {kind}"})
        title = SubElement(tile, "div")
        title.text = printable(f"{level.kind} {group.name}: {count(len(names), 'node')}")
        units = SubElement(tile, "div", {"class": "units"})
        for name in names:
            unit = SubElement(units, "i")
            if name in slow_nodes:
                unit.attrib |= {"class": "slow", "title": printable(name)}
        yield tile


def _rank(tile: Element) -> int:
    return ["tile slow", "tile has", "tile usual"].index(tile.get("class", ""))
