# SPDX-License-Identifier: Apache-2.0
"""The first picture of the page: culprits, and a tile for each group."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes.board import MOST, drawing
from nearpeak.nodes.build import build

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


def slow(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
    """Node 9, and the link 0 - 13."""
    latency = np.where((pairs == 9).any(axis=1), 1.6, 1.0)
    return latency, np.where((pairs == [0, 13]).all(axis=1), 1.4, 1.0)


def test_culprits_come_first_and_have_their_place(tmp_path: Path) -> None:
    chosen = made.chosen(16, levels=made.levels(4, 4, 4, 4))
    chosen.nodes[9] = "<i>&"
    root = ElementTree.fromstring(drawing(build(made.record(tmp_path, chosen, slow, 4))).markup)
    culprits = [one.text or "" for one in root.iter("b")]
    assert [text.partition(" × ")[0] for text in culprits] == ["node <i>&", "link n0 - n13"]
    tiles = [(tile.get("class"), tile[0].text) for tile in root.findall("div[@class='tiles']/div")]
    assert tiles == [
        ("tile has", "leaf switch s0: 4 nodes"),
        ("tile has", "leaf switch s2: 4 nodes"),
        ("tile has", "leaf switch s3: 4 nodes"),
        ("tile usual", "leaf switch s1: 4 nodes"),
    ]
    units = [*root.iter("i")]
    assert len(units) == 16
    assert [unit.get("title") for unit in units if unit.get("class") == "slow"] == ["<i>&"]


def test_many_culprits_are_counted(tmp_path: Path) -> None:
    links = [[first, first + 10] for first in range(MOST + 2)]

    def many(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        which = (pairs[:, None] == links).all(axis=2).any(axis=1)
        return np.where(which, 1.6, 1.0), np.ones(len(pairs))

    root = ElementTree.fromstring(
        drawing(build(made.record(tmp_path, made.chosen(20), many, 4))).markup
    )
    assert [one.text for one in root.iter("b")][-1] == "and 2 more"


def test_nothing_slow_is_said_only_if_all_was_judged(tmp_path: Path) -> None:
    def alike(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        return np.ones(len(pairs)), np.ones(len(pairs))

    whole = build(made.record(tmp_path / "whole", made.chosen(8), alike, None))
    assert "Nothing is slow" in drawing(whole).markup
    half = build(made.record(tmp_path / "half", made.chosen(8), alike, 2))
    assert "Nothing is slow" not in drawing(half).markup
