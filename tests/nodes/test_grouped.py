# SPDX-License-Identifier: Apache-2.0
"""The groups that a run is judged by."""

import sys
from pathlib import Path

import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes.grouped import FIGURES, topology

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py
LEVELS = made.levels(6, 3, 3)


def far(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
    """Latency tells the first leaf from the others, and bandwidth the other two."""
    leaves = LEVELS[0].labels[pairs]
    latency = np.where((leaves == 0).sum(axis=1) == 1, 1.3, 1.0)
    return latency, np.where((leaves[:, 0] != leaves[:, 1]), 1.3, 1.0)


def alike(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
    return np.ones(len(pairs)), np.ones(len(pairs))


def test_named_groups_are_taken(tmp_path: Path) -> None:
    chosen = made.chosen(12, levels=LEVELS, levels_from="Slurm")
    found = topology(made.record(tmp_path, chosen, alike, 2))
    assert (found.levels, found.source) == (LEVELS, "Slurm")


def test_all_figures_tell_of_groups(tmp_path: Path) -> None:
    found = topology(made.record(tmp_path, made.chosen(12), far, 4))
    assert found.source == FIGURES
    [level] = found.levels
    groups = {tuple(np.flatnonzero(level.labels == group)) for group in set(level.of)}
    assert groups == {tuple(range(6)), (6, 7, 8), (9, 10, 11)}
    assert level.names == ["1", "2", "3"]


def test_nodes_that_are_alike_have_no_groups(tmp_path: Path) -> None:
    assert topology(made.record(tmp_path, made.chosen(12), alike, 4)).levels == []


def test_a_survey_of_few_rounds_tells_of_none(tmp_path: Path) -> None:
    assert topology(made.record(tmp_path, made.chosen(12, rounds=3), far, 1)).levels == []


def test_without_a_launch_there_are_none(tmp_path: Path) -> None:
    assert topology(made.record(tmp_path, made.chosen(12), far, 0)).levels == []
