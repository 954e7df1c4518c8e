# SPDX-License-Identifier: Apache-2.0
"""Comparisons against worked examples, and by simulation (every seed is fixed)."""

import numpy as np
import pytest
from scipy import stats

from nearpeak.statistics.comparisons import p_value, paired, rejects_normality


def test_p_value_of_the_paired_t_test() -> None:
    # Worked by hand: mean 2, deviation 1, t = 2 sqrt(3) = 3.4641; with 2 degrees of freedom the
    # distribution is known in closed form: p = 1 - t / sqrt(2 + t^2).
    t = 2 * np.sqrt(3)
    assert p_value([1.0, 2.0, 3.0]) == pytest.approx(1 - t / np.sqrt(2 + t * t))
    assert p_value([1.0]) == 1  # one pair says nothing
    assert p_value([0.0, 0.0, 0.0]) == 1  # not the least difference
    assert p_value([0.5, 0.5, 0.5]) == pytest.approx(0, abs=1e-6)


def test_paired() -> None:
    values = np.log([1.1, 1.2, 1.3, 1.1, 1.2, 1.3])
    found = paired(values)
    assert found.ratio == pytest.approx(1.2)
    assert found.ci95 is not None
    assert 1.1 <= found.ci95[0] <= found.ratio <= found.ci95[1] <= 1.3
    assert found.p_value == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    turned = paired(-values)
    assert turned.ci95 == pytest.approx((1 / found.ci95[1], 1 / found.ci95[0]))
    assert turned.p_value == pytest.approx(found.p_value)
    assert paired(values[:5]).ci95 is None


def test_sessions_that_disagree_leave_nothing_sure() -> None:
    values = [0.1, 0.11, 0.12, 0.1, 0.3, 0.31, 0.32, 0.3]
    sessions = [0] * 4 + [1] * 4
    alone, both = paired(values), paired(values, sessions)
    assert alone.p_value < 0.01 < 0.1 < both.p_value
    assert both.ci95 is not None
    assert both.ci95[0] < 1 < both.ci95[1]


def test_normality_is_rejected_where_there_is_none() -> None:
    generator = np.random.default_rng(4)
    normal = [generator.normal(0, 1, 12) for _ in range(400)]
    bimodal = [generator.permutation([0.0] * 6 + [1.0] * 6) for _ in range(10)]
    assert 8 <= rejects_normality(normal) <= 34  # 5 % of 400, deviation 4.4
    assert rejects_normality(bimodal) == 10
    assert rejects_normality([np.zeros(6), np.zeros(2)]) == 0
    assert rejects_normality([np.array([1.0] * 5 + [1 + 2e-16])]) == 0  # rounding is no spread
