# SPDX-License-Identifier: Apache-2.0
"""Nodes and links told apart: by planted ones, and by how often nothing is called slow."""

import itertools
import math

import numpy as np
import pytest

from nearpeak.arrays import Floats, Indices
from nearpeak.statistics.additive import design, excess, fit, holm, spread
from nearpeak.statistics.levels import ERROR_RATE

MARGIN = math.log(1.1)


def pairs(count: int) -> tuple[Indices, Indices]:
    both = np.array(list(itertools.combinations(range(count), 2)))
    return both[:, 0], both[:, 1]


@pytest.mark.parametrize("count", [5, 6, 40])
def test_a_slow_node_is_a_node_and_a_slow_link_a_link(count: int) -> None:
    first, second = pairs(count)
    values = np.full(len(first), 1.0)
    values[(first == 2) | (second == 2)] += 0.5
    values[(first == 0) & (second == 4)] += 0.7
    found = fit(design(first, second, count), values)
    nodes = np.zeros(count)
    nodes[2] = 0.5
    assert found.mean == pytest.approx(1.0, abs=1e-3)
    assert found.nodes == pytest.approx(nodes, abs=1e-3)
    links = np.where((first == 0) & (second == 4), 0.7, 0.0)
    assert found.links == pytest.approx(links, abs=1e-3)


def test_a_node_without_values_has_no_effect() -> None:
    first, second = pairs(6)
    found = fit(design(first, second, 7), np.ones(len(first)))
    assert np.isnan(found.nodes[6])
    assert np.isfinite(found.nodes[:6]).all()
    assert np.isfinite(found.links).all()


def test_few_values_of_each_node_are_enough() -> None:
    """As many rounds as a short survey has, of nodes that differ."""
    chance = np.random.default_rng(1)
    count = 200
    truth = 0.1 * chance.standard_normal(count)
    truth -= np.median(truth)
    rounds = [chance.permutation(count).reshape(-1, 2) for _ in range(16)]
    first, second = np.sort(np.concatenate(rounds), axis=1).T
    values = 2 + truth[first] + truth[second] + 0.01 * chance.standard_normal(len(first))
    found = fit(design(first, second, count), values)
    assert spread(found.nodes - truth) < 0.01
    assert found.residuals(first, second, values) == pytest.approx(found.links, abs=1e-3)


def test_one_disturbed_launch_is_not_enough() -> None:
    values = 0.01 * np.random.default_rng(2).standard_normal((300, 4))
    values[0, 0] = 3.0
    values[1] += 0.4
    found = excess(values, MARGIN)
    assert found.p_values[0] == 1.0
    assert found.p_values[1] < 1e-9
    low, high = found.reach(4) or (0.0, 0.0)
    assert low < 0 < high < 0.05


def test_what_is_slower_within_the_margin_is_not_slow() -> None:
    values = 0.001 * np.random.default_rng(3).standard_normal((300, 4))
    values[0] += math.log(1.09)
    assert excess(values, MARGIN).p_values[0] == 1.0


def test_subjects_that_some_launches_lack() -> None:
    values = 0.01 * np.random.default_rng(4).standard_normal((300, 3))
    values[0] = [0.4, math.nan, 0.41]
    values[1] = [0.4, math.nan, math.nan]
    values[2] = math.nan
    found = excess(values, MARGIN)
    assert found.middle[0] == pytest.approx(0.405)
    assert found.p_values[0] < 1e-3
    assert found.p_values[1] == found.p_values[2] == 1.0


def heavy(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Scatter with disturbed values, as launches have it, at the margin: the worst that is not
    slow."""
    found = 0.03 * chance.standard_normal(shape)
    disturbed = chance.random(shape) < 0.02
    found[disturbed] += chance.uniform(0, 1, int(disturbed.sum()))
    return found + MARGIN


def test_false_verdicts_stand_in_few_runs() -> None:
    """At most 5 % of runs, of which 200 are few: 18 or more are rarer than 1 in 100."""
    wrong = 0
    for run in range(200):
        values = heavy(np.random.default_rng([5, run]), (200, 4))
        p_values = excess(values, MARGIN).p_values
        wrong += bool((holm(p_values, len(p_values)) < ERROR_RATE).any())
    assert wrong < 18


def test_holm_steps_down() -> None:
    adjusted = holm(np.array([0.01, 0.04, 0.03]), 4)
    assert adjusted == pytest.approx([0.04, 0.09, 0.09])
