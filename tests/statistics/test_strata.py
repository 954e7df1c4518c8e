# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from nearpeak.statistics.strata import GAP, effects, strata


def test_strata_are_parted_by_gaps() -> None:
    assert strata([305, 64, 318, 88, 66, 330]).tolist() == [2, 0, 2, 1, 0, 2]
    assert strata([100, 100 * GAP, 100 * GAP**2]).tolist() == [0, 0, 0]
    assert strata([100, 101 * GAP]).tolist() == [0, 1]
    assert strata([70.0]).tolist() == [0]


def test_an_unknown_distance_is_a_stratum_of_its_own() -> None:
    assert strata([float("nan"), 64, float("nan"), 66]).tolist() == [1, 0, 1, 0]
    assert strata([float("nan")] * 2).tolist() == [0, 0]


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
