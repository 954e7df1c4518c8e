# SPDX-License-Identifier: Apache-2.0
"""What launches say: their noise, the effects of values, and what rounds show of a candidate."""

import math

import numpy as np
import pytest

from nearpeak.tune.estimate import (
    HARM,
    LEAST_NOISE,
    Noise,
    effects_of,
    estimate,
    noise_of,
    one_of_several,
)

NOISE = Noise(np.array([0.03, 0.03]), 0.02)


def rounds(*gains: tuple[float, float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array(gains)


def test_noise_is_that_of_usual_launches() -> None:
    usual = [[0.03 * (-1) ** n, 0.0] for n in range(20)]
    noise = noise_of([np.array([*usual, [5.0, 5.0]]) + 1.0, np.array([[7.0, 2.0]])])
    assert noise.targets == pytest.approx([1.4826 * 0.03, LEAST_NOISE])
    assert noise.mean == pytest.approx(1.4826 * 0.015)


@pytest.mark.parametrize(("shared", "mean"), [(True, 0.1), (False, 0.1 / math.sqrt(8))])
def test_noise_of_the_mean_is_that_of_whole_launches(shared: bool, mean: float) -> None:
    scatter = np.random.default_rng(1).normal(0, 0.1, (400, 8))
    launches = np.repeat(scatter[:, :1], 8, axis=1) if shared else scatter
    assert noise_of([launches]).mean == pytest.approx(mean, rel=0.15)


def test_an_effect_is_what_trials_with_a_value_cost_less() -> None:
    rows = np.array([[n & 1, n >> 1 & 1, n >> 2 & 1] for n in range(8)] * 10, dtype=float)
    costs = rows @ np.array([-0.5, 0.2, 0.0])
    alone = effects_of(rows, costs)
    assert alone == pytest.approx([0.5, -0.2, 0.0], abs=0.03)
    assert effects_of(rows, np.column_stack([costs, -costs])) == pytest.approx(
        np.column_stack([alone, -alone])
    )


def test_rounds_that_agree_are_better_beyond_chance() -> None:
    found = estimate(rounds(*[(0.3, 0.0)] * 4), NOISE)
    assert found.gains == pytest.approx([0.3, 0.0])
    assert found.mean == pytest.approx(0.15)
    scatter = 1.25 * math.sqrt(2) * NOISE.targets / 2  # as launches
    assert found.errors == pytest.approx(scatter)
    assert (found.better, found.harms) == (True, False)


def test_one_slow_round_changes_nothing() -> None:
    usual = [(0.2, 0.2)] * 4
    assert estimate(rounds(*usual, (-3.0, -3.0)), NOISE).gains == pytest.approx([0.2, 0.2])


def test_rounds_that_scatter_say_nothing() -> None:
    found = estimate(rounds((0.9, 0.9), (-0.7, -0.6), (0.4, 0.5), (-0.3, -0.2)), NOISE)
    assert (found.better, found.harms) == (False, False)


def test_fewer_standard_errors_are_enough_for_what_was_chosen_before() -> None:
    found = estimate(rounds(*[(0.09, 0.09)] * 2), Noise(np.array([0.04, 0.04]), 0.028))
    assert not found.better
    assert found.better_by(1.0)


def test_one_of_several_targets_needs_more_standard_errors() -> None:
    """The tables of the normal distribution: 0.00135 and an eighth of it."""
    assert one_of_several(3.0, 1) == pytest.approx(3.0)
    assert one_of_several(3.0, 8) == pytest.approx(3.584, abs=0.005)
    noise = Noise(np.full(8, 0.04), 0.04)
    error = 1.25 * math.sqrt(2) * 0.04 / math.sqrt(6)
    for errors, better in ((3.4, False), (3.8, True)):
        gains = np.zeros((6, 8))
        gains[:, 0] = errors * error
        assert estimate(gains, noise).better == better


def test_what_makes_a_target_slower_harms() -> None:
    found = estimate(rounds(*[(0.5, -3 * HARM)] * 6), NOISE)
    assert (found.better, found.harms) == (True, True)
