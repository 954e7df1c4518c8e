# SPDX-License-Identifier: Apache-2.0
"""Changes of rows over a history."""

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.statistics import change_points
from nearpeak.statistics.change_points import LEVEL, correlation, find, seen_after


def noise(rows: int, sessions: int, seed: int = 1) -> Floats:
    """Rows that scatter by 2 %, half of it shared by all of them."""
    chance = np.random.default_rng(seed)
    shared, own = chance.normal(size=(1, sessions)), chance.normal(size=(rows, sessions))
    return np.asarray(0.02 * np.sqrt(0.5) * (shared + own))


def test_nothing_is_found_where_nothing_changed() -> None:
    assert find(noise(20, 40), [0] * 20) == []


def test_a_change_is_found_with_its_session_and_size() -> None:
    rows = noise(20, 40)
    rows[3, 35:] -= 0.2
    [step] = find(rows, [0] * 10 + [1] * 10)
    assert (step.row, step.at) == (3, 35)
    assert step.possible[0] <= 35 <= step.possible[1]
    assert abs(step.shift + 0.2) < 0.03
    assert 0 < step.p_adjusted <= LEVEL


def test_rows_that_change_at_once_have_one_session() -> None:
    rows = noise(20, 40)
    rows[:5, 30:] -= 0.1
    steps = find(rows, [0] * 20)
    assert {step.row for step in steps} == {0, 1, 2, 3, 4}
    assert {step.at for step in steps} == {30}


def test_each_part_of_a_row_is_judged_again() -> None:
    rows = noise(4, 60)
    rows[1, 20:] -= 0.3
    rows[1, 45:] += 0.2
    assert [(step.row, step.at, step.shift > 0) for step in find(rows, [0] * 4)] == [
        (1, 20, False),
        (1, 45, True),
    ]


def test_a_single_session_is_no_change() -> None:
    rows = noise(4, 40)
    rows[:, -1] -= 1.0
    rows[2, 11:13] += 2.0
    assert find(rows, [0] * 4) == []


def test_sessions_that_a_row_lacks_hide_nothing() -> None:
    rows = noise(4, 50)
    rows[1, 30:] -= 0.2
    rows[1, ::3] = np.nan
    rows[2, :20] = np.nan
    [step] = find(rows, [0] * 4)
    assert step.row == 1
    assert step.possible[0] <= 30 <= step.possible[1]


def test_a_second_change_soon_after_the_first_is_found() -> None:
    for gap in (3, 6, 10):
        rows = noise(20, 60 + gap + 4)
        rows[:, 60:] += 0.4
        rows[:, 60 + gap :] -= 0.2
        steps = [(step.at, step.shift > 0) for step in find(rows, [0] * 20) if step.row == 0]
        assert steps == [(60, True), (60 + gap, False)]


def test_a_new_loss_is_found_however_many_changes_there_were() -> None:
    rows = noise(8, 90)
    for row in range(6):
        rows[row, 22 + 5 * row :] += 0.7
    rows[0, 85:] -= 0.2
    assert [step.at for step in find(rows, [0] * 8) if step.row == 0] == [22, 85]


def test_a_large_loss_in_a_short_history_does_not_pass_for_correlation() -> None:
    for sessions in range(12, 21):
        lasted = seen_after(sessions)
        assert lasted is not None
        rows = noise(20, sessions)
        rows[:, -lasted:] -= 2.3
        assert find(rows, [0] * 4 + [1] * 16)
    assert [seen_after(sessions) for sessions in (11, 12, 16, 17, 60)] == [None, 5, 4, 3, 3]


def test_a_shared_state_that_persists_is_no_change() -> None:
    alarms = 0
    for seed in range(10):
        chance = np.random.default_rng(seed)
        state = chance.normal(size=60)
        for session in range(1, 60):
            state[session] = 0.9 * state[session - 1] + 0.19**0.5 * state[session]
        alarms += bool(find(state + chance.normal(size=(8, 60)), [0] * 8))
    assert alarms <= 3  # of 10, without the correlation 7


def test_a_drift_is_found() -> None:
    assert find(noise(8, 90) + np.linspace(0, -0.3, 90), [0] * 8)


def test_short_and_constant_rows_are_not_judged() -> None:
    rows = np.zeros((3, change_points.FEWEST))
    rows[1, 6:] = -1.0  # certain, but of too few sessions with nan
    rows[1, 0] = np.nan
    assert find(rows, [0, 0, 1]) == []
    assert find(np.zeros((2, 30)), [0, 1]) == []
    assert find(np.full((1, 30), np.nan), [0]) == []


def test_neighbours_that_are_alike_are_no_change() -> None:
    chance = np.random.default_rng(4)
    rows = chance.normal(size=(4, 200))
    assert correlation(rows) < 0.2
    for session in range(1, 200):
        rows[:, session] += 0.5 * rows[:, session - 1]
    assert 0.3 < correlation(rows) < 0.7
    assert find(rows, [0] * 4) == []


def test_a_step_hardly_counts_as_likeness() -> None:
    rows = noise(4, 60)
    rows[:, 30:] -= 0.2
    assert correlation(rows) < 0.5
    assert len(find(rows, [0] * 4)) == 4
