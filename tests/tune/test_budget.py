# SPDX-License-Identifier: Apache-2.0
"""Until when each kind of a tuning's work may begin."""

import pytest

from nearpeak.study.fit import OVERTIME
from nearpeak.tune.budget import Budget


def test_what_decides_may_take_what_the_study_can_spare() -> None:
    budget = Budget(180.0)
    assert budget.until("search", 0.5) == pytest.approx(99.0)
    assert 99.0 < budget.until("proof", 0.5) < 180.0
    assert budget.until("proof", 0.5) > budget.until("proof", 1.0)
    assert budget.until("rest", 0.5) == 180.0


def test_a_study_that_needs_all_of_its_share_keeps_it() -> None:
    assert Budget(180.0).until("proof", 10.0) == Budget(180.0).until("search", 10.0)


def test_trials_end_before_what_is_to_come() -> None:
    assert Budget(180.0).trials_until(0.5, 20.0) == pytest.approx(0.75 * 99.0)
    short = Budget(180.0).trials_until(0.5, 120.0)
    assert short == pytest.approx(Budget(180.0).until("proof", 0.5) - 120.0)


def test_a_study_that_takes_its_overtime_fits() -> None:
    assert 60.0 + OVERTIME * Budget(180.0).study_seconds(60.0) == pytest.approx(180.0)
    assert Budget(180.0).study_seconds(200.0) == 0.0


def test_time_that_is_added_counts_from_what_was_spent() -> None:
    added = Budget(100.0, begins=300.0)
    assert added.ends == 400.0
    assert added.until("search", 0.0) == pytest.approx(355.0)
    assert added.overdrawn(405.0) == ""
    assert added.overdrawn(420.0).startswith("It took 2m00s, beyond the budget of 1m40s: ")


def test_what_is_left_unused_is_told_where_it_is_more_than_a_little() -> None:
    assert Budget(180.0).unused(103.0) == pytest.approx(77.0)
    assert Budget(180.0).unused(175.0) == 0.0
    assert Budget(180.0).unused(190.0) == 0.0
