# SPDX-License-Identifier: Apache-2.0
"""Sessions that lie apart, and errors of means: known values, and how often chance does it."""

import numpy as np
import pytest
from scipy import stats

from nearpeak.statistics.sessions import (
    Part,
    added,
    apart,
    medians,
    reach,
    sessions_with_enough_launches,
    student,
    t_test,
)


def test_apart_is_the_f_test_of_one_way_analysis_of_variance() -> None:
    # Means 1 and 3 of three launches each: F = 6, which is above 1.81, the 75 % point.
    assert apart([0.0, 1.0, 2.0, 2.0, 3.0, 4.0], [0, 0, 0, 1, 1, 1])
    assert not apart([0.0, 1.0, 2.0, 1.0, 2.0, 3.0], [0, 0, 0, 1, 1, 1])
    generator = np.random.default_rng(1)
    for _ in range(50):
        values = generator.normal(0, 1, 12)
        parts = values[:6], values[6:9], values[9:]
        p = stats.f_oneway(*parts).pvalue
        assert apart(values, [0] * 6 + [1] * 3 + [2] * 3) == (p < 0.25)


@pytest.mark.parametrize("sizes", [(3, 3), (5, 3), (11, 3), (10, 3, 3), (6, 6, 6)])
def test_sessions_that_are_alike_lie_apart_in_a_quarter_of_cases(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(2)
    sessions = np.repeat(np.arange(len(sizes)), sizes).tolist()
    found = [apart(values, sessions) for values in generator.normal(0, 1, (2000, sum(sizes)))]
    assert np.mean(found) == pytest.approx(0.25, abs=0.04)


def test_what_says_nothing_of_sessions_is_not_apart() -> None:
    values = [0.1, 0.2, 0.3, 0.4]
    assert not apart(values, [7, 7, 7, 7])
    assert not apart(values, [1, 2, 3, 4])  # how launches scatter is not known
    assert not apart([], [])
    assert not apart([0.1] * 12, [0] * 5 + [1] * 7)
    assert apart([0.1] * 5 + [0.2] * 7, [0] * 5 + [1] * 7)


def test_what_can_only_be_positive_deviates_by_factors() -> None:
    values, sessions = [1.0, 2.0, 4.0, 20.0, 3.0, 6.0, 12.0, 60.0], [0] * 4 + [1] * 4
    factors = apart(np.log(values), sessions)
    assert apart(values, sessions, positive=True) == factors


def test_the_median_of_each_session() -> None:
    values, sessions = [1.0, 5.0, 2.0, 9.0, 3.0, 6.0, 8.0], [4, 2, 4, 2, 4, 2, 3]
    assert medians(values, sessions).tolist() == [6.0, 2.0]


def test_one_or_two_launches_do_not_tell_where_a_session_lies() -> None:
    assert sessions_with_enough_launches([3, 1, 1, 3, 2, 3, 1, 2]).tolist() == [1, 3]
    alike = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0]
    assert not apart([*alike, 9.0, 9.1], [0] * 3 + [1] * 3 + [2] * 2)
    assert apart([*alike, 9.0, 9.1, 9.2], [0] * 3 + [1] * 3 + [2] * 3)
    assert not apart([1.0, 1.1, 5.0, 5.1], [0, 0, 1, 1])


def test_student() -> None:
    values = [1.0, 2.0, 3.0, 6.0]
    far = stats.t.ppf(0.975, 3) * np.sqrt(14 / 12)
    assert reach(Part(14 / 12, 3), 0.95) == pytest.approx(far)
    assert student(values, 0.95) == pytest.approx((3 - far, 3 + far))
    low, high = student(np.log(values), 0.95)
    assert student(values, 0.95, positive=True) == pytest.approx((np.exp(low), np.exp(high)))


def test_welch() -> None:
    generator = np.random.default_rng(2)
    a, b = generator.normal(0, 1, 7), generator.normal(1, 3, 12)
    parts = [Part(float(row.var(ddof=1)) / len(row), len(row) - 1) for row in (a, b)]
    p = t_test(float(a.mean() - b.mean()), added(*parts))
    assert p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_nothing_deviates() -> None:
    assert t_test(0.0, Part(0.0, 3)) == 1
    assert t_test(0.1, Part(0.0, 3)) == 0
    assert added(Part(0.0, 3), Part(0.0, 2)) == (0, 5)
