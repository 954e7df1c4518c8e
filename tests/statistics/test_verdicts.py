# SPDX-License-Identifier: Apache-2.0
"""Verdicts: the closed test by brute force, the rules by hand, the error rate by simulation."""

from itertools import chain, combinations

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.statistics.comparisons import p_value
from nearpeak.statistics.verdicts import Curve, across, judge, within

SIX = np.array([-2.0, -1, 0, 0, 1, 2])  # scatter without a shift


def subsets(items: list[tuple[int, int]]) -> list[tuple[tuple[int, int], ...]]:
    """All that are not empty."""
    return list(chain.from_iterable(combinations(items, n) for n in range(1, len(items) + 1)))


def simes(p: list[float]) -> float:
    return min(len(p) * value / rank for rank, value in enumerate(sorted(p), 1))


def of_curve(rows: Floats) -> float:
    """The p-value of a whole curve, written out again."""
    p = [p_value(row) for row in rows]
    return p[0] if len(p) == 1 else 2 * min(simes(p), p_value(rows.mean(axis=0)))


def test_adjusted_p_values_are_those_of_the_closed_test() -> None:
    """The largest p-value of any set that holds a hypothesis, over all sets of sizes."""
    generator = np.random.default_rng(1)
    for _ in range(20):
        shapes = generator.integers(1, 4, 3)
        curves = [generator.normal(generator.choice([0, 1, 2]), 1, (k, 6)) for k in shapes]
        p = [[p_value(row) for row in rows] for rows in curves]
        sizes = {(c, s): 0.0 for c, rows in enumerate(curves) for s in range(len(rows))}
        wholes = [0.0] * len(curves)
        for chosen in subsets(list(sizes)):
            groups = {c: [s for d, s in chosen if d == c] for c, _ in chosen}
            local = min(
                of_curve(curves[c]) if len(of) == len(p[c]) else simes([p[c][s] for s in of])
                for c, of in groups.items()
            )
            value = min(1.0, len(groups) * local)
            for item in chosen:
                sizes[item] = max(sizes[item], value)
            for c, of in groups.items():
                if len(of) == len(p[c]):
                    wholes[c] = max(wholes[c], value)
        judged = judge([Curve(rows, "higher") for rows in curves])
        assert [one.curve.p_adjusted for one in judged] == pytest.approx(wholes)
        found = [size.p_adjusted for one in judged for size in one.sizes]
        assert found == pytest.approx(list(sizes.values()))


def test_within_worked_by_hand() -> None:
    # Of 3: the least pairs with 0.03 and 0.04: min(2 x 0.01, 0.04) = 0.02, below the whole curve's.
    assert within([0.03, 0.01, 0.04], 0.025).tolist() == pytest.approx([0.04, 0.025, 0.04])
    assert within([0.2], 0.2).tolist() == [0.2]


def test_across_worked_by_hand() -> None:
    # Alone; with the worst other curve, min(0.01, 0.5) x 2; with both, min(0.01, 0.004) x 3.
    assert across([0.01], [0.004, 0.5]).tolist() == pytest.approx([0.02])
    assert across([0.01, 0.6], [0.2, 0.5]).tolist() == pytest.approx([0.03, 1.0])
    assert across([0.3], []).tolist() == [0.3]


def test_verdicts_of_sizes() -> None:
    rows = np.array([0.1 + 0.001 * SIX, -0.1 + 0.001 * SIX, 0.01 + 0.001 * SIX, 0.1 + 0.2 * SIX])
    [judged] = judge([Curve(rows, "higher")])
    verdicts = [size.verdict for size in judged.sizes]
    assert verdicts == ["faster", "slower", "equivalent", "undecided"]
    assert judged.curve.verdict == "mixed"
    assert all(size.p_adjusted >= judged.curve.p_adjusted for size in judged.sizes)


def test_the_margin_depends_on_the_metric() -> None:
    rows = 0.025 + 0.0001 * np.array([SIX, SIX])
    assert judge([Curve(rows, "higher")])[0].curve.verdict == "faster"
    assert judge([Curve(rows, "lower")])[0].curve.verdict == "equivalent"


def test_five_blocks_decide_nothing() -> None:
    [judged] = judge([Curve(np.full((2, 5), 0.5) + 0.001 * SIX[:5], "lower")])
    assert {judged.curve.verdict, *(s.verdict for s in judged.sizes)} == {"undecided"}


def test_a_small_shift_of_all_sizes_is_seen_in_the_curve() -> None:
    generator = np.random.default_rng(2)
    rows = 0.03 + generator.normal(0, 0.03, (20, 6))
    others = [Curve(generator.normal(0, 0.03, (20, 6)), "higher") for _ in range(5)]
    first, *rest = judge([Curve(rows, "higher"), *others])
    assert first.curve.verdict == "faster"
    assert all(one.curve.verdict in ("undecided", "equivalent") for one in rest)
    assert [one.verdict for one in first.sizes].count("faster") < 20


def test_one_size_and_opposite_sizes_are_seen() -> None:
    generator = np.random.default_rng(3)
    noise = generator.normal(0, 0.01, (10, 8))
    one = noise + np.where(np.arange(10) == 4, 0.3, 0)[:, None]
    [judged] = judge([Curve(one, "lower")])
    assert [i for i, size in enumerate(judged.sizes) if size.verdict == "faster"] == [4]
    opposite = noise + np.where(np.arange(10) % 2, 0.2, -0.2)[:, None]
    [judged] = judge([Curve(opposite, "lower")])
    assert [size.verdict for size in judged.sizes] == ["slower", "faster"] * 5
    assert judged.curve.verdict == "mixed"


def test_missing_blocks() -> None:
    rows = np.array([0.1 + 0.001 * SIX, 0.4 + 0.001 * SIX])
    whole = judge([Curve(rows, "lower")])[0]
    rows[1, 2] = np.nan
    part = judge([Curve(rows, "lower")])[0]
    assert part.sizes[0].comparison == whole.sizes[0].comparison
    assert part.sizes[1].comparison.ci95 is None
    # The block that lacks the larger ratio does not look slow for it.
    assert part.curve.comparison.ratio == pytest.approx(np.exp(0.25), rel=1e-3)
    nobody = np.concatenate([rows, np.full((2, 1), np.nan)], axis=1)
    assert judge([Curve(nobody, "lower")])[0] == part


def test_sessions_of_blocks() -> None:
    rows = np.array([[0.1, 0.11, 0.12, 0.3, 0.31, 0.32]] * 2)
    rows[1, 0] = np.nan
    assert judge([Curve(rows, "lower")])[0].curve.verdict == "faster"
    assert judge([Curve(rows, "lower", [0, 0, 0, 1, 1, 1])])[0].curve.verdict == "undecided"


def test_the_order_of_curves_does_not_matter() -> None:
    generator = np.random.default_rng(4)
    curves = [Curve(generator.normal(0.1 * i, 0.1, (4, 9)), "lower") for i in range(4)]
    assert judge(curves)[::-1] == judge(curves[::-1])
    assert judge([]) == []


def test_false_verdicts_stay_rare() -> None:
    """20 curves of 8 sizes that share their launches; two curves differ in half of their sizes."""
    generator = np.random.default_rng(5)
    false = 0
    for _ in range(100):
        noise = generator.normal(0, 0.02, (20, 8, 6)) + generator.normal(0, 0.02, (20, 1, 6))
        noise[:2, ::2] += 0.5
        judged = judge([Curve(rows, "higher") for rows in noise])
        assert all(s.verdict == "faster" for one in judged[:2] for s in one.sizes[::2])
        wrong = [s.verdict for one in judged[:2] for s in one.sizes[1::2]]
        wrong += [one.curve.verdict for one in judged[2:]]
        wrong += [s.verdict for one in judged[2:] for s in one.sizes]
        false += any(verdict in ("faster", "slower", "mixed") for verdict in wrong)
    assert false <= 10  # 5 are allowed, deviation 2.2
