# SPDX-License-Identifier: Apache-2.0
"""Trials between CPUs at several distances."""

import numpy as np
import pytest

from nearpeak.tune.distances import Distances

NEAR, FAR = 90.0, 320.0


def corrected(
    found: Distances, env: dict[str, str], ns: float | None, *costs: float
) -> list[float]:
    return list(found.corrected(env, ns, np.array(costs)))


def test_trials_are_brought_to_the_distance_of_the_first() -> None:
    found = Distances()
    assert corrected(found, {}, NEAR, 1.0, 5.0) == [1.0, 5.0]
    assert corrected(found, {"X": "1"}, NEAR * 1.1, 0.8, 5.0) == [0.8, 5.0]
    assert corrected(found, {}, FAR, 2.0, 5.1) == pytest.approx([1.0, 5.0])
    assert corrected(found, {"Y": "1"}, FAR, 1.7, 5.1) == pytest.approx([0.7, 5.0])
    assert corrected(found, {"Y": "1"}, NEAR, 0.7, 5.0) == [0.7, 5.0]


def test_what_is_not_known_changes_nothing() -> None:
    found = Distances()
    assert corrected(found, {}, FAR, 2.0) == [2.0]
    assert corrected(found, {"X": "1"}, NEAR, 0.5) == [0.5]  # nothing was measured at both
    assert corrected(found, {}, None, 1.0) == [1.0]
