# SPDX-License-Identifier: Apache-2.0
"""Levels of a row, and the losses that still hold."""

import numpy as np
import pytest

from nearpeak.history.courses import Course
from nearpeak.history.levels import course
from nearpeak.statistics.change_points import Step


def judged(*levels: float, tolerance: float = 0.05, first: int = 0) -> Course:
    """A row of levels of ten sessions each, all of whose changes were found."""
    row = np.log(np.repeat(levels, 10))
    changes = [
        Step(row=0, at=10 * index, possible=(10 * index, 10 * index), p_adjusted=0.001, shift=0.0)
        for index in range(1, len(levels))
    ]
    return course(row, changes, tolerance, first)


def regressed(of: Course) -> list[tuple[int, float]]:
    return [(step.session, round(step.ratio_now, 3)) for step in of.steps if step.regressed]


def test_a_loss_that_was_made_up_for_only_in_part_is_a_regression() -> None:
    assert regressed(judged(1.0, 0.7, 0.77)) == [(10, 0.77)]
    assert regressed(judged(1.0, 0.7, 0.99)) == []
    assert not judged(1.0, 0.7, 0.99).regressed


def test_each_loss_is_relative_to_the_level_before_it() -> None:
    assert regressed(judged(1.0, 0.8, 0.6)) == [(10, 0.6), (20, 0.75)]
    assert regressed(judged(1.0, 1.5, 1.2)) == [(20, 0.8)]


def test_an_accepted_loss_counts_no_more_even_if_a_part_of_it_was_undone() -> None:
    assert regressed(judged(1.0, 0.7, 0.77, first=11)) == []
    assert regressed(judged(1.0, 0.7, 0.77, 0.7, first=11)) == [(30, 0.909)]
    assert regressed(judged(1.0, 0.7, first=10)) == [(10, 0.7)]


def test_small_losses_add_up() -> None:
    steps = judged(1.0, 0.96, 0.92, 0.88, 0.84).steps
    assert [(step.session, round(step.ratio, 3)) for step in steps] == [(20, 0.92), (40, 0.913)]
    assert regressed(judged(1.0, 0.96, 0.92, 0.88, 0.84)) == [(20, 0.84), (40, 0.913)]
    assert judged(1.0, 0.96).steps == []
    assert judged(1.0, 0.96, 0.93, first=15).steps == []


def test_the_decisive_change_is_the_first_loss_that_holds() -> None:
    assert judged(1.0).decisive is None
    for levels, session in (((1.0, 0.7, 0.77), 10), ((1.0, 0.7, 1.0), 20), ((1.0, 1.5), 10)):
        step = judged(*levels).decisive
        assert step is not None
        assert step.session == session


def test_levels_around_a_change() -> None:
    of = judged(1.0, 0.7, 0.77)
    assert of.around(10) == (slice(0, 10), slice(20, None))
    assert of.around(20) == (slice(10, 20), slice(20, None))
    assert judged(1.0).around(7) == (slice(0, 7), slice(7, None))


def test_values_are_relative_to_the_first_level_that_was_measured() -> None:
    row = np.log([np.nan, 2.0, 2.0, 2.0, 1.0])
    assert course(row, [], 0.05, 0).values == [None, *map(pytest.approx, (1.0, 1.0, 1.0, 0.5))]
