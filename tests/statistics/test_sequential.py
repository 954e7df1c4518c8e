# SPDX-License-Identifier: Apache-2.0
"""Questions in the order of their first blocks: what is sure, and how seldom that is wrong."""

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.statistics.intervals import interval
from nearpeak.statistics.sequential import leading, surely_above

NAN = float("nan")


def sure(*rows: list[float]) -> list[bool]:
    return surely_above(np.array(rows)).tolist()


def test_all_blocks_behind_the_first_must_be_above() -> None:
    assert sure([1.0] * 6) == [True]
    assert sure([-1.0] + [1.0] * 5) == [True]  # the first one only gives the order
    assert sure([1.0] * 5 + [-1.0]) == [False]
    assert sure([1.0] * 5 + [0.0]) == [False]


def test_fewer_than_six_blocks_are_never_sure() -> None:
    assert sure([9.0] * 5) == [False]
    assert sure([9.0] * 5 + [NAN]) == [False]
    assert surely_above(np.empty((0, 0))).tolist() == []


def test_what_fails_first_ends_it_where_blocks_are_few() -> None:
    high, low = [3.0] + [2.0] * 5, [1.0] * 6
    fails = [2.0, 1.0, 1.0, 1.0, 1.0, -1.0]
    assert sure(low, fails, high) == [False, False, True]
    assert sure([*low, 1.0], [*fails, 1.0], [*high, 1.0]) == [True, False, True]  # three may fail


def test_rows_that_cannot_be_sure_do_not_end_it() -> None:
    assert sure([9.0] * 5 + [NAN] * 2, [1.0] * 7) == [False, True]


def test_rows_without_the_first_blocks_come_last() -> None:
    """No block that is counted in any row gives the order of another."""
    late, fails = [NAN] + [9.0] * 5, [0.1, -1.0, 1.0, 1.0, 1.0, 1.0]
    assert sure(late, fails) == [False, False]
    assert sure(late, [0.1] * 6) == [True, True]


def test_of_many_blocks_one_may_be_against_it() -> None:
    assert sure([1.0] * 11 + [-1.0]) == [True]
    assert sure([1.0] * 10 + [-1.0] * 4) == [False]


def skewed(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return np.asarray(generator.exponential(size=shape) - np.log(2))


def modes(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """40 % far above 0, the median just below."""
    return np.asarray(
        0.5 * (generator.random(shape) < 0.4) - 0.02 + 0.005 * generator.normal(size=shape)
    )


def shared_modes(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return modes(generator, shape) * 1e-3 + modes(generator, (1, shape[1]))


@pytest.mark.parametrize("blocks", [6, 7, 12, 24])
@pytest.mark.parametrize("launches", [skewed, modes, shared_modes])
def test_false_answers_stay_rare_whatever_launches_look_like(launches, blocks) -> None:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(1)
    false = [surely_above(launches(generator, (60, blocks))).any() for _ in range(300)]
    assert np.mean(false) <= 0.09  # 5 % are allowed, deviation 1.3 %


def test_a_great_loss_is_found_among_many_questions() -> None:
    generator = np.random.default_rng(2)
    rows = generator.normal(-0.5, 0.3, (200, 7))
    rows[:5] += 2.5
    assert surely_above(rows).tolist() == [True] * 5 + [False] * 195


@pytest.mark.parametrize(("blocks", "told"), [(6, 0), (7, 1), (8, 3), (9, 6), (12, 25)])
def test_as_many_intervals_as_the_blocks_allow(blocks: int, told: int) -> None:
    first = leading(np.tile(1.0 + np.arange(40.0)[:, None], blocks))
    assert first.rows.tolist() == [row >= 40 - told for row in range(40)]  # the greatest
    values = np.arange(float(first.counted.sum()))
    assert (interval(values, first.level) is not None) == (told > 0)


def test_the_blocks_of_the_order_are_in_no_interval() -> None:
    first = leading(np.array([[9.0] + [1.0] * 7, [1.0] + [9.0] * 7, *[[0.5] * 8] * 3]))
    assert first.rows.tolist() == [True, True, True, False, False]
    assert first.counted.tolist() == [False] + [True] * 7
    assert leading(np.empty((0, 0))).rows.tolist() == []


def test_what_the_order_puts_below_the_limit_makes_no_interval_wider() -> None:
    low = [[-1.0] + [9.0] * 7] * 200
    first = leading(np.array([[2.0] * 8, *low]))
    assert first.rows.tolist() == [True] + [False] * 200
    assert first.level == pytest.approx(0.95)


def test_intervals_hold_together() -> None:
    """Of 30 rows whose medians are 0, in 8 blocks: three at most have one."""
    generator = np.random.default_rng(3)
    missed = 0
    for _ in range(400):
        rows = skewed(generator, (30, 8))
        first = leading(rows)
        bounds = [interval(row[first.counted], first.level) for row in rows[first.rows]]
        missed += not all(known and known[0] <= 0.0 <= known[1] for known in bounds)
    assert 0 < missed <= 33  # 20 are allowed, deviation 4.4
