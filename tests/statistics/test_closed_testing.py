# SPDX-License-Identifier: Apache-2.0
"""The closed test by brute force, its parts by hand."""

from itertools import chain, combinations

import numpy as np
import pytest

from nearpeak.statistics import closed_testing
from nearpeak.statistics.closed_testing import across, adjust, within
from nearpeak.statistics.comparisons import Comparison


def subsets(items: list[tuple[int, int]]) -> list[tuple[tuple[int, int], ...]]:
    """All that are not empty."""
    return list(chain.from_iterable(combinations(items, n) for n in range(1, len(items) + 1)))


def simes(p: list[float]) -> float:
    return min(len(p) * value / rank for rank, value in enumerate(sorted(p), 1))


def of_curve(shift: float, p: list[float]) -> float:
    """The p-value of a whole curve, written out again."""
    return p[0] if len(p) == 1 else 2 * min(simes(p), shift)


def test_adjusted_p_values_are_those_of_the_closed_test() -> None:
    """The largest p-value of any set that holds a hypothesis, over all sets of sizes."""
    generator = np.random.default_rng(1)
    for _ in range(20):
        p = [
            (10 ** generator.uniform(-4, 0, k)).tolist()
            for k in generator.integers(1, 4, 3).tolist()
        ]
        shifts = [
            p_values[0] if len(p_values) == 1 else float(10 ** generator.uniform(-4, 0))
            for p_values in p
        ]
        sizes = {(c, s): 0.0 for c, rows in enumerate(p) for s in range(len(rows))}
        wholes = [0.0] * len(p)
        for chosen in subsets(list(sizes)):
            groups = {c: [s for d, s in chosen if d == c] for c, _ in chosen}
            local = min(
                of_curve(shifts[c], p[c]) if len(of) == len(p[c]) else simes([p[c][s] for s in of])
                for c, of in groups.items()
            )
            value = min(1.0, len(groups) * local)
            for item in chosen:
                sizes[item] = max(sizes[item], value)
            for c, of in groups.items():
                if len(of) == len(p[c]):
                    wholes[c] = max(wholes[c], value)
        found = adjust(
            [
                closed_testing.Tests(
                    Comparison(1.0, None, shift), [Comparison(1.0, None, shift_p) for shift_p in of]
                )
                for shift, of in zip(shifts, p, strict=True)
            ]
        )
        assert [adjusted.curve for adjusted in found] == pytest.approx(wholes)
        assert [size for adjusted in found for size in adjusted.sizes] == pytest.approx(
            list(sizes.values())
        )


def test_within_worked_by_hand() -> None:
    # Of 3: the least pairs with 0.03 and 0.04: min(2 x 0.01, 0.04) = 0.02, below the whole curve's.
    assert within([0.03, 0.01, 0.04], 0.025).tolist() == pytest.approx([0.04, 0.025, 0.04])
    assert within([0.2], 0.2).tolist() == [0.2]


def test_across_worked_by_hand() -> None:
    # Alone; with the worst other curve, min(0.01, 0.5) x 2; with both, min(0.01, 0.004) x 3.
    assert across([0.01], [0.004, 0.5]).tolist() == pytest.approx([0.02])
    assert across([0.01, 0.6], [0.2, 0.5]).tolist() == pytest.approx([0.03, 1.0])
    assert across([0.3], []).tolist() == [0.3]
