# SPDX-License-Identifier: Apache-2.0
"""Comparisons against worked examples."""

import numpy as np
import pytest

from nearpeak.statistics.comparisons import paired


def test_paired() -> None:
    values = np.log([1.1, 1.2, 1.3, 1.1, 1.2, 1.3])
    found = paired(values)
    assert found.ratio == pytest.approx(1.2)
    assert found.ci95 is not None
    assert 1.1 <= found.ci95[0] <= found.ratio <= found.ci95[1] <= 1.3
    assert found.p_value == 1 / 32
    turned = paired(-values)
    assert turned.ci95 == pytest.approx((1 / found.ci95[1], 1 / found.ci95[0]))
    assert turned.p_value == found.p_value
    assert paired(values[:5]).ci95 is None
