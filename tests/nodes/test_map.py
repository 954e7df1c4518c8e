# SPDX-License-Identifier: Apache-2.0
"""The map of all pairs of nodes."""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from nearpeak.arrays import Floats, Indices
from nearpeak.document.page import render
from nearpeak.nodes import map as maps
from nearpeak.nodes.build import build
from nearpeak.nodes.present import present
from nearpeak.numbers import number

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


def slow(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
    """Node 2, and the link 0 - 5."""
    latency = np.where((pairs == 2).any(axis=1), 1.6, 1.0)
    return latency, np.where((pairs == [0, 5]).all(axis=1), 1.4, 1.0)


def test_a_map_colours_a_slow_node_as_a_row_and_a_column(tmp_path: Path) -> None:
    found = build(made.record(tmp_path, made.chosen(7), slow))
    latency = next(each for each in found.maps if each.metric == "latency_us")
    root = ElementTree.fromstring(maps.draw(latency, found.nodes))
    cells = {
        (int(cell.get("x", "")), int(cell.get("y", ""))): cell.get("class")
        for cell in root.iter("rect")
    }
    assert len(cells) == 21
    for (column, row), kind in cells.items():
        assert column < row
        assert kind == ("c4" if 2 in (column, row) else "c0")
    assert len(maps.drawing(found).legend) == len(maps.STEPS) + 1


def test_a_map_of_many_nodes_has_a_path_for_each_class(tmp_path: Path) -> None:
    found = build(made.record(tmp_path, made.chosen(90), slow, launches=1))
    drawn = maps.draw(found.maps[0], found.nodes)
    root = ElementTree.fromstring(drawn)
    paths = {path.get("class"): path.get("d", "").count("M") for path in root.iter("path")}
    assert paths["c4"] == 89
    assert sum(paths.values()) == 90 * 89 // 2
    assert len(drawn) < 64 * 1024


def test_of_many_nodes_the_slow_ones_have_their_names(tmp_path: Path) -> None:
    found = build(made.record(tmp_path, made.chosen(64), slow, launches=1))
    wide = maps.draw(found.maps[0], found.nodes, ["n41", "n10", "n42"])
    names = {one.text: one.get("class") for one in ElementTree.fromstring(wide).iter("span")}
    assert names["n41, n42"] == names["n10"] == "node slow"
    assert not names.keys() & {"n9", "n11", "n40", "n42"}
    assert {"n0", "n8", "n12", "n38", "n44"} <= names.keys()
    rows = [one for one in ElementTree.fromstring(wide).iter("rect") if one.get("class") == "row"]
    assert [row.findtext("title") for row in rows] == found.nodes


@pytest.mark.parametrize("width", [1280, 1000, 400])
@pytest.mark.parametrize("count", [4, 32])
def test_names_stand_beside_their_rows_and_can_be_read(
    tmp_path: Path, browser: Any, count: int, width: int
) -> None:
    chosen = made.chosen(count)
    chosen.nodes[:] = [f"gpu-node-{number:03d}.cluster" for number in range(count)]
    browser.show(render(present(build(made.record(tmp_path, chosen, slow)))), width)
    assert browser.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    names = browser.evaluate(
        """[...document.querySelector(".nodes-map").querySelectorAll(".node")]
        .filter((node) => getComputedStyle(node).display !== "none")
        .map((node) => { const box = node.getBoundingClientRect();
        return [node.textContent, parseFloat(getComputedStyle(node).fontSize), box.top,
        node.scrollWidth <= node.clientWidth]; })"""
    )
    second = "gpu-node-002" if width == 400 and count == 32 else "gpu-node-001"
    assert [name for name, *_ in names[:2]] == ["gpu-node-000", second]
    assert len(names) == (16 if second.endswith("2") else count)
    assert min(letters for _, letters, _, _ in names) > 11
    assert all(whole for _, _, _, whole in names)
    tops = [top for _, _, top, _ in names]
    assert min(after - before for before, after in pairwise(tops)) > 11


def test_few_nodes_have_figures_in_their_cells(tmp_path: Path) -> None:
    found = build(made.record(tmp_path, made.chosen(4), slow))
    drawn = ElementTree.fromstring(maps.draw(found.maps[0], found.nodes))
    figures = [one.text for one in drawn.iter("span") if "figure" in one.get("class", "")]
    assert figures == [number(x) for row in found.maps[0].rows for x in row if x is not None]
    assert maps.drawing(found).legend[-1] != ("none", "not measured")
    found.maps[0].rows[3][1] = None
    drawn = ElementTree.fromstring(maps.draw(found.maps[0], found.nodes))
    assert [path.get("d") for path in drawn.iter("path")] == ["M1 3h1v1h-1z"]
    assert maps.drawing(found).legend[-1] == ("none", "not measured")
