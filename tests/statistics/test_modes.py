# SPDX-License-Identifier: Apache-2.0
"""Two modes: by hand, and how seldom one looks like two."""

import numpy as np
import pytest

from nearpeak.statistics.modes import two_modes


def test_two_modes() -> None:
    upper = two_modes([1.0, 1.5, 1.01, 1.51, 1.02, 0.99])
    assert upper is not None
    assert upper.tolist() == [False, True, False, True, False, False]
    assert two_modes([1.0, 1.5, 1.01, 1.0, 1.02, 0.99]) is None  # one launch is an outlier
    assert two_modes([1.0, 1.04, 1.0, 1.04, 1.0, 1.04]) is None  # too near
    assert two_modes([1.0, 1.05, 1.0, 1.05, 1.0, 1.05]) is None  # 5 % is not above it
    assert two_modes([1.0, 1.5, 1.0, 1.5]) is None  # too few
    assert two_modes([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]) is None


@pytest.mark.parametrize(("n", "most"), [(6, 0.04), (9, 0.005), (12, 0.003)])
@pytest.mark.parametrize("shape", ["normal", "heavy", "uniform"])
def test_one_mode_seldom_looks_like_two(n: int, most: float, shape: str) -> None:
    generator = np.random.default_rng(5)
    draw = {
        "normal": lambda: generator.normal(0, 1, (3000, n)),
        "heavy": lambda: generator.standard_t(3, (3000, n)),
        "uniform": lambda: generator.uniform(-1, 1, (3000, n)),
    }[shape]
    found = sum(two_modes(values) is not None for values in np.exp(draw()))
    assert found / 3000 <= most
