# SPDX-License-Identifier: Apache-2.0
"""Comparisons against worked examples."""

import numpy as np
import pytest

from nearpeak.statistics.comparisons import median_ratio


def test_median_ratio() -> None:
    values = np.log([1.1, 1.2, 1.3, 1.1, 1.2, 1.3])
    found = median_ratio(values)
    assert found.value == pytest.approx(1.2)
    assert found.bounds is not None
    assert 1.1 <= found.bounds[0] <= found.value <= found.bounds[1] <= 1.3
    turned = median_ratio(-values)
    assert turned.bounds == pytest.approx((1 / found.bounds[1], 1 / found.bounds[0]))
    assert median_ratio(values[:5]).bounds is None
