# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from nearpeak.arrays import Booleans, Indices
from nearpeak.statistics.strata import ALONE, GAP, alike, level, mixed, strata


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


def sides(near: int, far: int) -> tuple[Indices, Indices, Booleans]:
    """Sessions, strata and sides of two sessions of each side, each with so many of two strata."""
    sessions = np.repeat(np.arange(4), near + far)
    return sessions, np.tile(np.repeat([0, 1], [near, far]), 4), sessions >= 2


def test_launches_of_the_stratum_are_judged_alone_where_each_side_has_enough() -> None:
    sessions, of, new = sides(ALONE // 2, 1)
    logarithms = np.arange(len(of), dtype=float)
    found = level(logarithms, sessions, of, new, 0)
    assert (found.alone, found.effects, found.blur) == (True, 0, 0.0)
    assert found.logarithms[of == 0].tolist() == logarithms[of == 0].tolist()
    assert np.isnan(found.logarithms[of == 1]).all()


def test_each_side_has_an_effect_of_its_own_where_there_are_few() -> None:
    sessions, of, new = sides(2, 2)
    of_session = 0.1 * sessions
    logarithms = of_session + np.where(of == 1, np.where(new, 0.2, 0.7), 0.0) - 1.3 * new
    found = level(logarithms, sessions, of, new, 0)
    assert (found.alone, found.effects) == (False, 2)
    assert found.logarithms == pytest.approx(of_session - 1.3 * new, abs=1e-4)
    at_far = level(logarithms, sessions, of, new, 1)
    assert at_far.logarithms == pytest.approx(of_session + np.where(new, -1.1, 0.7), abs=1e-4)


def test_a_launch_far_off_does_not_move_them() -> None:
    sessions, of, new = sides(2, 2)
    logarithms = np.where(of == 1, 0.7, 0.0)
    logarithms[2] = -3
    found = level(logarithms, sessions, of, new, 0).logarithms
    assert np.delete(found, 2) == pytest.approx(np.zeros(len(of) - 1), abs=0.04)


def test_sessions_that_nothing_joins_with_the_stratum_are_left_out() -> None:
    sessions, of = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 2, 2, 0, 0])
    found = level(np.arange(6.0), sessions, of, sessions == 2, 0)
    assert np.isnan(found.logarithms).tolist() == [False, False, True, True, False, False]
    of[2] = 1  # joined by the first session, which has both
    assert not np.isnan(level(np.arange(6.0), sessions, of, sessions == 2, 0).logarithms).any()


def test_nothing_is_told_where_a_side_lacks_the_stratum() -> None:
    logarithms = np.array([0.0, 0.0, 0.7, 0.7])
    sessions = of = np.array([0, 0, 1, 1])
    found = level(logarithms, sessions, of, sessions == 1, 0)
    assert found.logarithms.tolist() == logarithms.tolist()
    assert found.blur == np.inf


def test_one_stratum_has_no_effect() -> None:
    found = level(np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 0]), np.array([0, 1]) > 0, 0)
    assert (found.logarithms.tolist(), found.alone, found.blur) == ([1.0, 2.0], True, 0.0)


def test_the_blur_is_how_far_simulated_differences_scatter() -> None:
    chance = np.random.default_rng(1)
    sessions = np.repeat(np.arange(4), 8)
    of = np.array([0] * 3 + [1] * 5 + [0] * 2 + [1] * 6 + [0] * 2 + [1] * 6 + [0] * 3 + [1] * 5)
    new = sessions >= 2
    found = []
    for _ in range(400):
        values = 0.05 * chance.normal(size=32) + np.where(of == 1, np.where(new, 0.2, 0.7), 0.0)
        levelled = level(values, sessions, of, new, 0)
        assert not levelled.alone
        found.append(levelled.logarithms[new].mean() - levelled.logarithms[~new].mean())
    expected = 0.05 * np.sqrt(2 / 16 + levelled.blur)
    assert np.std(found) == pytest.approx(expected, rel=0.15)
    # By hand: each side has 5 launches in the stratum, 3 + 2 of two sessions, so that the effect's
    # variance is 1 / (3 * 5 / 8 + 2 * 6 / 8) of a launch's.
    assert levelled.blur == pytest.approx(2 * (11 / 16) ** 2 / (27 / 8))
