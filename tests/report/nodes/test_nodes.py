# SPDX-License-Identifier: Apache-2.0
"""What a report shows of all pairs of nodes: on the terminal, on the page and as a map."""

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes.build import build
from nearpeak.nodes.found import Found
from nearpeak.numbers import number
from nearpeak.report.nodes import map as maps
from nearpeak.report.nodes import words
from nearpeak.report.nodes.page import render
from nearpeak.report.nodes.required import to_junit
from nearpeak.report.nodes.terminal import print_found

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


def slow(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
    """Node 2, and the link 0 - 5."""
    latency = np.where((pairs == 2).any(axis=1), 1.6, 1.0)
    return latency, np.where((pairs == [0, 5]).all(axis=1), 1.4, 1.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    chosen = made.chosen(7)
    chosen.nodes[2] = "<i>&"  # what a host is called is no markup
    return build(made.record(tmp_path_factory.mktemp("nodes"), chosen, slow))


def test_the_terminal_says_what_is_slow(found: Found, capsys: pytest.CaptureFixture[str]) -> None:
    print_found(found, Path("nodes.html"))
    out = capsys.readouterr().out
    assert "21 of 21 pairs (100 %)" in out
    assert re.search(r"node <i>& +latency, alone +1\.[56]\d", out)
    assert re.search(r"link n0 - n5 +bandwidth, together +1\.[34]\d", out)
    assert out.rstrip().endswith("7 nodes: 1 slow node and 1 slow link; nodes.html")
    assert words.faults(found) == "7 nodes: 1 slow node and 1 slow link"


def test_the_page_is_whole_and_escaped(found: Found) -> None:
    page = render(found)
    assert "<i>&" not in page
    assert "&lt;i&gt;&amp;" in page
    assert "<script" not in page
    assert page.count("<svg") == 4
    assert "7 nodes: 1 slow node and 1 slow link." in page


def test_requirements_are_shown_as_met_or_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = made.chosen(5)
    recorded = made.record(tmp_path, chosen, lambda pairs, _: (np.ones(len(pairs)),) * 2)
    plain = build(recorded)
    assert not plain.bad
    usual = next(curve.usual for curve in plain.curves if curve.metric == "latency_us")
    wanted = [f"latency<={2 * usual:.3f}us", f"alone latency<={usual / 2:.3f}us"]
    found = build(recorded, wanted)
    assert found.bad
    assert words.faults(found) == "1 of 2 requirements missed"
    print_found(found, None)
    out = capsys.readouterr().out
    assert f"Required {wanted[0]}: met: latency, all pairs of a round at the same time" in out
    assert f"Required {wanted[1]}: missed: latency, each pair alone" in out
    page = render(found)
    assert page.count('<div class="notice bad"><p>Required') == 1
    root = ElementTree.fromstring(to_junit(found))
    assert (root.get("tests"), root.get("failures")) == ("5", "1")
    [failure] = root.iter("failure")
    assert (failure.get("message") or "").startswith("missed: latency, each pair alone")


def test_what_was_not_judged_is_no_passed_test(tmp_path: Path, found: Found) -> None:
    [failure] = ElementTree.fromstring(to_junit(found)).iter("failure")
    assert failure.get("message") == "7 nodes: 1 slow node and 1 slow link"
    few = build(made.record(tmp_path, made.chosen(3), slow))
    [skipped] = ElementTree.fromstring(to_junit(few)).iter("skipped")
    assert "too few to tell a slow node" in (skipped.get("message") or "")


@pytest.mark.parametrize("count", [3, 4])
def test_what_was_measured_once_has_no_columns_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    """Of three nodes each round is one pair, which is alone in it."""
    found = build(made.record(tmp_path, made.chosen(count), slow))
    print_found(found, None)
    assert ("us alone" in capsys.readouterr().out) == (count > 3)
    page = render(found)
    assert ("Latency alone" in page) == (count > 3)
    assert ("all pairs of a round at the same time" in page) == (count > 3)
    assert "each pair alone" in page


def test_a_map_colours_a_slow_node_as_a_row_and_a_column(found: Found) -> None:
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
    assert len(maps.legend()) == len(maps.STEPS) + 1


def test_a_map_of_many_nodes_has_a_path_for_each_class(tmp_path: Path) -> None:
    found = build(made.record(tmp_path, made.chosen(90), slow, launches=1))
    drawn = maps.draw(found.maps[0], found.nodes)
    root = ElementTree.fromstring(drawn)
    paths = {path.get("class"): path.get("d", "").count("M") for path in root.iter("path")}
    assert paths["c4"] == 89
    assert sum(paths.values()) == 90 * 89 // 2
    assert len(drawn) < 60 * 1024


@pytest.mark.parametrize("width", [1280, 1000, 400])
@pytest.mark.parametrize("count", [4, 32])
def test_names_stand_beside_their_rows_and_can_be_read(
    tmp_path: Path, browser: Any, count: int, width: int
) -> None:
    chosen = made.chosen(count)
    chosen.nodes[:] = [f"gpu-node-{number:03d}.cluster" for number in range(count)]
    browser.show(render(build(made.record(tmp_path, chosen, slow))), width)
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
    assert not maps.has_gaps(found.maps[0])
    found.maps[0].rows[3][1] = None
    drawn = ElementTree.fromstring(maps.draw(found.maps[0], found.nodes))
    assert [path.get("d") for path in drawn.iter("path")] == ["M1 3h1v1h-1z"]
    assert maps.has_gaps(found.maps[0])
