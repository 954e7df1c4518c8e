# SPDX-License-Identifier: Apache-2.0
"""The error of a mean with sessions: known values, and its estimate without bias."""

import numpy as np
import pytest
from scipy import stats

from nearpeak.statistics.sessions import Part, added, error, t_test


def test_without_sessions_it_is_the_standard_error() -> None:
    plain = error([1.0, 2.0, 3.0, 6.0])
    assert plain.launches == pytest.approx((14 / 3 / 4, 3))
    assert plain.sessions is None
    assert plain.reach(0.95) == pytest.approx(stats.t.ppf(0.975, 3) * np.sqrt(14 / 12))
    assert error([1.0, 2.0, 3.0, 6.0], [1, 1, 1, 1]) == plain
    assert error([1.0, 2.0, 3.0, 6.0], [1, 2, 3, 4]) == plain


def test_analysis_of_variance_worked_by_hand() -> None:
    # Means 1 and 5: between 2 x 8 = 16 with 1 degree of freedom, within 2 x 2 / 2 = 2; so each
    # session has (16 - 2) / 2 = 7, the mean of both 3.5, and the launches 2 / 4.
    found = error([0.0, 2.0, 4.0, 6.0], [0, 0, 1, 1])
    assert found.launches == pytest.approx((0.5, 2))
    assert found.sessions == pytest.approx((3.5, 1))
    assert found.total.variance == pytest.approx(4)


def test_of_unequal_sessions_the_estimate_has_no_bias() -> None:
    generator = np.random.default_rng(1)
    sessions = [0] * 2 + [1] * 5 + [2] * 9
    truth = 4 * (2**2 + 5**2 + 9**2) / 16**2 + 1 / 16
    found = []
    for _ in range(4000):
        shift = 2 * generator.normal(0, 1, 3)
        values = shift[sessions] + generator.normal(0, 1, 16)
        found.append(error(values, sessions).total.variance)
    assert np.mean(found) == pytest.approx(truth, rel=0.05)  # truncation at 0 is rare


def test_welch() -> None:
    generator = np.random.default_rng(2)
    a, b = generator.normal(0, 1, 7), generator.normal(1, 3, 12)
    p = t_test(float(a.mean() - b.mean()), added(error(a).total, error(b).total))
    assert p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_nothing_deviates() -> None:
    assert t_test(0.0, Part(0.0, 3)) == 1
    assert t_test(0.1, Part(0.0, 3)) == 0
    assert added(Part(0.0, 3), Part(0.0, 2)) == (0, 5)
