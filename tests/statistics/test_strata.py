# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from nearpeak.statistics.strata import GAP, alike, blur, effects, mixed, strata


def test_strata_are_parted_by_gaps() -> None:
    assert strata([305, 64, 318, 88, 66, 500]).tolist() == [1, 0, 1, 0, 0, 2]
    assert strata([100, 100 * GAP, 100 * GAP**2]).tolist() == [0, 0, 0]
    assert strata([100, 101 * GAP]).tolist() == [0, 1]
    assert strata([70.0]).tolist() == [0]


def test_two_are_alike_where_both_are_of_one_stratum() -> None:
    one, other = {1: 80.0, 2: 300.0, 3: 90.0, 4: 320.0}, {1: 95.0, 2: 310.0, 3: 330.0, 5: 80.0}
    assert alike(one, other) == {1, 2}
    assert alike(one, {}) == set()


def test_a_quarter_at_another_distance_is_a_mix() -> None:
    assert mixed([300, 300, 300, 60])
    assert mixed([60, 300, 900, 300])
    assert not mixed([300, 300, 300, 300, 60])
    assert not mixed([300, 250, 200, 150])
    assert not mixed([])


def test_effects_of_strata_are_told_from_those_of_sessions() -> None:
    sessions = np.repeat([0, 1], 5)
    of = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 0])
    logarithms = np.where(sessions == 1, 0.1, 0.0) + np.where(of == 1, 0.7, 0.0)
    assert effects(logarithms, sessions, of) == pytest.approx(np.where(of == 1, 0.7, 0.0), abs=1e-4)
    # The other one is the commonest now.
    other = np.array([0, 1, 1, 1, 1, 1, 1, 1, 0, 0])
    logarithms = np.where(sessions == 1, 0.1, 0.0) + np.where(other == 1, 0.7, 0.0)
    assert effects(logarithms, sessions, other) == pytest.approx(
        np.where(other == 1, 0.0, -0.7), abs=1e-4
    )


def test_a_launch_far_off_does_not_move_them() -> None:
    sessions = np.repeat([0, 1], 6)
    of = np.tile([0, 0, 0, 1, 1, 1], 2)
    logarithms = np.where(of == 1, 0.7, 0.0)
    logarithms[4] = -3
    assert effects(logarithms, sessions, of) == pytest.approx(np.where(of == 1, 0.7, 0.0), abs=0.02)


def test_nothing_is_brought_together_that_no_session_has_both_of() -> None:
    sessions, of = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])
    assert effects(np.array([0.0, 0.0, 0.7, 0.7]), sessions, of).tolist() == [0, 0, 0, 0]
    # A third session has both.
    sessions, of = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 0, 1])
    found = effects(np.array([0.0, 0.0, 0.7, 0.7, 0.0, 0.7]), sessions, of)
    assert found == pytest.approx([0, 0, 0.7, 0.7, 0, 0.7], abs=1e-4)


def test_one_stratum_has_no_effect() -> None:
    assert effects(np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 0])).tolist() == [0, 0]


def blurred(shares: tuple[float, float], sessions: int = 3, launches: int = 10) -> float:
    """With these shares of a second stratum on the old side and on the new one."""
    numbers = np.repeat(np.arange(2 * sessions), launches)
    new = numbers >= sessions
    of = np.array([int(i % launches < shares[int(side)] * launches) for i, side in enumerate(new)])
    return blur(numbers, of, new)


def test_effects_blur_a_difference_the_more_the_less_alike_both_sides_are() -> None:
    assert blurred((0.0, 0.0)) == 0
    assert blurred((0.5, 0.5)) == pytest.approx(0)
    # By hand: 60 launches, of each session 0.1 * 0.9 * 10 about its mean: the effect's variance is
    # 1 / (6 * 0.9) of a launch's.
    assert blurred((0.1, 0.9)) == pytest.approx(0.8**2 / 5.4)
    assert blurred((0.1, 0.9)) > blurred((0.3, 0.7)) > 0
    assert blurred((0.0, 1.0)) == np.inf  # no session has both


def test_the_blur_is_how_far_simulated_differences_scatter() -> None:
    chance = np.random.default_rng(1)
    sessions = np.repeat(np.arange(4), 8)
    of = np.array([0] * 7 + [1] + [0] * 6 + [1] * 2 + [1] * 7 + [0] + [1] * 6 + [0] * 2)
    new = sessions >= 2
    found = []
    for _ in range(400):
        values = 0.05 * chance.normal(size=32)
        values = values + 0.7 * of
        values = values - effects(values, sessions, of)
        found.append(values[new].mean() - values[~new].mean())
    expected = 0.05 * np.sqrt(2 / 16 + blur(sessions, of, new))
    assert np.std(found) == pytest.approx(expected, rel=0.15)
