# SPDX-License-Identifier: Apache-2.0
"""Groups found from times between nodes, and none where there are none."""

import math

import numpy as np
import pytest

from nearpeak.arrays import Floats, Indices
from nearpeak.statistics.clusters import find, profiles


def symmetric(values: Floats) -> Floats:
    upper = np.triu(values, 1)
    return np.asarray(upper + upper.T)


def times(labels: Indices, far: float, seed: int, slow: float = 1.0) -> list[Floats]:
    """Of two halves of the launches; node 1 is slow."""
    count = len(labels)
    chance = np.random.default_rng(seed)
    nodes = np.zeros(count)
    nodes[1] = math.log(slow)
    always = math.log(far) * (labels[:, None] != labels[None]) + nodes[:, None] + nodes[None]
    always = always + symmetric(0.015 * chance.standard_normal((count, count)))
    halves = []
    for _ in range(2):
        values = always + symmetric(0.02 * chance.standard_normal((count, count)))
        np.fill_diagonal(values, values[~np.eye(count, dtype=bool)].min())
        halves.append(values)
    return halves


@pytest.mark.parametrize("slow", [1.0, 1.2])
@pytest.mark.parametrize(
    ("sizes", "far"), [((24, 8), 1.15), ((48, 16), 1.2), ((8, 4), 1.3), ((16,) * 4, 1.1)]
)
def test_groups_are_found(sizes: tuple[int, ...], far: float, slow: float) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    found = find(*times(labels, far, 1, slow))
    assert ((found[:, None] == found[None]) == (labels[:, None] == labels[None])).all()


@pytest.mark.parametrize("count", [4, 5, 6, 12, 40])
def test_nodes_that_are_alike_are_one_group(count: int) -> None:
    for seed in range(5):
        assert not find(*times(np.zeros(count, dtype=np.intp), 1.0, seed, 1.2)).any()


@pytest.mark.parametrize("far", [1.0, 1.15])
def test_profiles_tell_groups_of_one_launch(far: float) -> None:
    """Without groups, the fastest pairs of a launch are no groups."""
    labels = np.repeat(np.arange(8), 16)
    values, _ = times(labels, far, 3)
    found = find(profiles(values), values)
    same = labels[:, None] == labels[None] if far > 1.0 else np.ones((128, 128), dtype=bool)
    assert ((found[:, None] == found[None]) == same).all()
