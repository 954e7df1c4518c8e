# SPDX-License-Identifier: Apache-2.0
"""Until when each kind of a tuning's work may begin."""

import pytest

from nearpeak.planning.fit import OVERTIME
from nearpeak.tune.budget import Budget


def test_what_decides_may_take_what_the_study_can_spare() -> None:
    budget = Budget(180.0, study=50.0)
    assert budget.until("search") == pytest.approx(99.0)
    assert budget.until("proof") == pytest.approx(130.0)


def test_a_study_that_needs_all_of_its_share_keeps_it() -> None:
    budget = Budget(180.0, study=100.0)
    assert budget.until("proof") == budget.until("search")


def test_trials_end_before_what_is_to_come() -> None:
    budget = Budget(180.0, study=50.0)
    assert budget.trials_until(20.0) == pytest.approx(0.75 * 99.0)
    assert budget.trials_until(100.0) == pytest.approx(30.0)


def test_the_budget_that_holds_trials_and_the_study() -> None:
    budget = Budget(180.0, study=90.0)
    longer = Budget(budget.that_holds(120.0), study=90.0)
    assert longer.trials_until(20.0) == pytest.approx(120.0)
    assert Budget(budget.that_holds(10.0), study=90.0).seconds == pytest.approx(200.0)


def test_a_study_that_takes_its_overtime_fits() -> None:
    assert 60.0 + OVERTIME * Budget(180.0).study_seconds(60.0) == pytest.approx(180.0)
    assert Budget(180.0).study_seconds(200.0) > 0  # 0 would be a study without a budget


def test_time_that_is_added_counts_from_what_was_spent() -> None:
    added = Budget(100.0, begins=300.0)
    assert added.ends == 400.0
    assert added.until("search") == pytest.approx(355.0)
    assert added.overdrawn(405.0) == ""
    assert added.overdrawn(420.0).startswith("It took 2m00s, beyond the budget of 1m40s: ")


def test_what_is_left_unused_is_told_where_it_is_more_than_a_little() -> None:
    assert Budget(180.0).unused(103.0) == pytest.approx(77.0)
    assert Budget(180.0).unused(175.0) == 0.0
    assert Budget(180.0).unused(190.0) == 0.0
