# SPDX-License-Identifier: Apache-2.0
"""Groups, uplinks, routes, nodes and links told apart, by planted ones."""

import itertools
import math

import numpy as np
import pytest

from nearpeak.arrays import Floats, Indices
from nearpeak.statistics.nested import Fit, design, distances, fit


def pairs(count: int) -> tuple[Indices, Indices]:
    both = np.array(list(itertools.combinations(range(count), 2)))
    return both[:, 0], both[:, 1]


def fitted(groups: list[Indices], change: Floats | None = None, far: float = 0.2) -> Fit:
    """Of pairs that take `far` longer for each step of distance, and `change` besides."""
    count = len(groups[0])
    first, second = pairs(count)
    values = 1.0 + far * distances(first, second, groups)
    return fit(design(first, second, count, groups), values + (0.0 if change is None else change))


def leaves(*sizes: int) -> Indices:
    return np.repeat(np.arange(len(sizes)), sizes)


def touching(count: int, node: int) -> Floats:
    """1 for each pair of the node."""
    first, second = pairs(count)
    return ((first == node) | (second == node)).astype(float)


@pytest.mark.parametrize("sizes", [(24, 8), (8, 4), (2, 2), (5, 1), (3, 3, 1, 1), (2, 2, 2, 2)])
def test_a_far_group_makes_no_node_slow(sizes: tuple[int, ...]) -> None:
    found = fitted([leaves(*sizes)], far=0.4)
    assert found.nodes == pytest.approx(0.0, abs=1e-3)
    assert found.links == pytest.approx(0.0, abs=1e-3)
    assert found.means == pytest.approx([1.0, 1.4], abs=1e-3)


@pytest.mark.parametrize("sizes", [(24, 8), (8, 4), (2, 2), (4, 4, 4), (2, 2, 2, 2), (3, 3, 1, 1)])
def test_a_slow_node_is_slow_in_its_group(sizes: tuple[int, ...]) -> None:
    count = sum(sizes)
    for node in (0, count - 1):
        found = fitted([leaves(*sizes)], 0.3 * touching(count, node))
        expected = np.zeros(count)
        expected[node] = 0.3
        assert found.nodes == pytest.approx(expected, abs=1e-3)
        assert found.links == pytest.approx(0.0, abs=1e-3)


def test_three_levels_leave_no_node_slow() -> None:
    groups = [leaves(12, 4, 8, 4), np.array([0, 0, 1, 1])[leaves(12, 4, 8, 4)]]
    found = fitted(groups, 0.1 * touching(28, 13))
    assert found.means == pytest.approx([1.0, 1.2, 1.4], abs=1e-3)
    assert np.flatnonzero(np.abs(found.nodes) > 1e-3).tolist() == [13]
    assert found.nodes[13] == pytest.approx(0.1, abs=1e-3)


def within(labels: Indices, group: int) -> tuple[Floats, Floats]:
    """1 for pairs in the group, and 1 for pairs that leave it."""
    first, second = pairs(len(labels))
    one, other = labels[first] == group, labels[second] == group
    return (one & other).astype(float), (one ^ other).astype(float)


def test_a_slow_uplink_and_a_bad_leaf_are_told_apart() -> None:
    labels = leaves(*[4] * 6)
    inside, leaving = within(labels, 2)
    [level] = fitted([labels], 0.3 * leaving).levels
    assert level.uplinks == pytest.approx([0, 0, 0.3, 0, 0, 0], abs=1e-3)
    assert level.inside == pytest.approx(0.0, abs=1e-3)
    [level] = fitted([labels], 0.3 * (inside + leaving)).levels
    assert level.uplinks == pytest.approx([0, 0, 0.3, 0, 0, 0], abs=1e-3)
    assert level.inside == pytest.approx([0, 0, 0.3, 0, 0, 0], abs=1e-3)


def test_a_slow_route_is_no_uplink() -> None:
    labels = leaves(*[4] * 6)
    first, second = pairs(24)
    between = (labels[first] == 1) & (labels[second] == 4)
    found = fitted([labels], 0.3 * between)
    [level] = found.levels
    slow = np.flatnonzero(level.routes > 0.1)
    assert [(level.first[at], level.second[at]) for at in slow] == [(1, 4)]
    assert level.uplinks == pytest.approx(0.0, abs=1e-3)
    assert found.links == pytest.approx(0.0, abs=1e-3)
    more = found.residuals(np.array([4]), np.array([17]), np.array([1.5]))
    assert more == pytest.approx([0.0], abs=1e-3)


def test_an_uplink_of_the_second_level() -> None:
    labels = leaves(*[3] * 12)
    pods = np.repeat(np.arange(4), 3)[labels]
    _, leaving = within(pods, 1)
    found = fitted([labels, pods], 0.25 * leaving)
    assert found.levels[1].uplinks == pytest.approx([0, 0.25, 0, 0], abs=1e-3)
    assert found.levels[0].uplinks == pytest.approx(0.0, abs=1e-3)


def test_two_groups_are_not_compared() -> None:
    labels = leaves(6, 6)
    inside, _ = within(labels, 1)
    [level] = fitted([labels], 0.3 * inside).levels
    assert np.isnan(level.inside).all()
    assert np.isnan(level.uplinks).all()


def test_rails_that_no_pair_leaves() -> None:
    labels = leaves(5, 5, 5)
    first, second = pairs(15)
    own = labels[first] == labels[second]
    first, second = first[own], second[own]
    values = 1.0 + 0.3 * (labels[first] == 2)
    found = fit(design(first, second, 15, [labels]), values)
    assert found.levels[0].inside == pytest.approx([0, 0, 0.3], abs=1e-3)
    assert found.nodes == pytest.approx(0.0, abs=1e-3)


def test_without_values_all_is_unknown() -> None:
    empty = np.zeros(0, dtype=np.intp)
    found = fit(design(empty, empty, 4, [leaves(2, 2)]), np.zeros(0))
    assert math.isnan(found.means[0])
    assert np.isnan(found.nodes).all()
