# SPDX-License-Identifier: Apache-2.0
"""Verdicts: the rules by hand, the error rate by simulation."""

import numpy as np
import pytest

from nearpeak.statistics.verdicts import Curve, blocks_of, judge, pairs_judged

SIX = np.array([-2.0, -1, 0, 0, 1, 2])  # scatter without a shift


def test_verdicts_of_sizes() -> None:
    rows = np.array([0.1 + 0.001 * SIX, -0.1 + 0.001 * SIX, 0.01 + 0.001 * SIX, 0.1 + 0.2 * SIX])
    [[judged]] = judge([[Curve(rows, "higher")]])
    verdicts = [size.verdict for size in judged.sizes]
    assert verdicts == ["faster", "slower", "equivalent", "undecided"]
    assert judged.curve.verdict == "mixed"
    assert all(size.p_adjusted >= judged.curve.p_adjusted for size in judged.sizes)


def test_the_margin_depends_on_the_metric() -> None:
    rows = 0.025 + 0.0001 * np.array([SIX, SIX])
    assert judge([[Curve(rows, "higher")]])[0][0].curve.verdict == "faster"
    assert judge([[Curve(rows, "lower")]])[0][0].curve.verdict == "equivalent"


def test_five_blocks_decide_nothing() -> None:
    [[judged]] = judge([[Curve(np.full((2, 5), 0.5) + 0.001 * SIX[:5], "lower")]])
    assert {judged.curve.verdict, *(s.verdict for s in judged.sizes)} == {"undecided"}


def test_a_small_shift_of_all_sizes_is_seen_in_the_curve() -> None:
    generator = np.random.default_rng(2)
    rows = 0.03 + generator.normal(0, 0.03, (20, 6))
    others = [Curve(generator.normal(0, 0.03, (20, 6)), "higher") for _ in range(5)]
    [[first, *rest]] = judge([[Curve(rows, "higher"), *others]])
    assert first.curve.verdict == "faster"
    assert all(judged.curve.verdict in ("undecided", "equivalent") for judged in rest)
    assert [size.verdict for size in first.sizes].count("faster") < 20


def test_one_size_and_opposite_sizes_are_seen() -> None:
    generator = np.random.default_rng(3)
    noise = generator.normal(0, 0.01, (10, 8))
    row = noise + np.where(np.arange(10) == 4, 0.3, 0)[:, None]
    [[judged]] = judge([[Curve(row, "lower")]])
    assert [i for i, size in enumerate(judged.sizes) if size.verdict == "faster"] == [4]
    assert judged.curve.verdict == "faster"  # and not mixed: nothing says the contrary
    opposite = noise + np.where(np.arange(10) % 2, 0.2, -0.2)[:, None]
    [[judged]] = judge([[Curve(opposite, "lower")]])
    assert [size.verdict for size in judged.sizes] == ["slower", "faster"] * 5
    assert judged.curve.verdict == "mixed"


def test_missing_blocks() -> None:
    rows = np.array([0.1 + 0.001 * SIX, 0.4 + 0.001 * SIX])
    whole = judge([[Curve(rows, "lower")]])[0][0]
    rows[1, 2] = np.nan
    part = judge([[Curve(rows, "lower")]])[0][0]
    assert part.sizes[0].comparison == whole.sizes[0].comparison
    assert part.sizes[1].comparison.ci95 is None
    # The block that lacks the larger ratio does not look slow for it: the mean is of the other.
    assert part.curve.comparison == part.sizes[0].comparison
    nobody = np.concatenate([rows, np.full((2, 1), np.nan)], axis=1)
    assert judge([[Curve(nobody, "lower")]])[0][0] == part


def test_modes_have_no_verdict() -> None:
    rows = np.array([0.1 + 0.001 * SIX, 0.4 + 0.001 * SIX])
    [[judged]] = judge([[Curve(rows, "higher", [False, True])]])
    assert [size.verdict for size in judged.sizes] == ["faster", "two modes"]
    assert judged.curve.verdict == "faster"
    assert judged.curve.comparison.ratio == pytest.approx(np.exp(0.25), rel=1e-3)  # of both
    [[judged]] = judge([[Curve(rows, "higher", [True, True])]])
    assert judged.curve.verdict == "two modes"


def test_blocks_that_are_too_few_for_all_pairs_judge_the_first() -> None:
    apart = [[Curve(np.full((2, 6), 0.1 * n) + 0.001 * SIX, "higher")] for n in (1, 2, 3)]
    found = [family[0].curve.verdict for family in judge(apart)]
    assert (pairs_judged(apart), found) == (1, ["faster", "undecided", "undecided"])
    more = [[Curve(np.tile(c.log_ratios, 2), "higher") for c in family] for family in apart]
    assert pairs_judged(more) == 3
    assert {family[0].curve.verdict for family in judge(more)} == {"faster"}


def test_a_block_that_was_cut_off_takes_no_verdicts_away() -> None:
    """Ten pairs need nine blocks: with eight, and a ninth of one pair, six are judged."""
    apart = 0.1 + 0.001 * np.arange(8.0)
    longer = Curve(np.append(apart, 0.1)[None], "higher")
    families = [[Curve(apart[None], "higher")] for _ in range(9)] + [[longer]]
    found = [family[0].curve.verdict for family in judge(families)]
    assert found == ["faster"] * 6 + ["undecided"] * 4
    assert (pairs_judged(families), blocks_of(families)) == (6, 8)


def test_the_order_of_curves_does_not_matter() -> None:
    generator = np.random.default_rng(4)
    curves = [Curve(generator.normal(0.1 * i, 0.1, (4, 9)), "lower") for i in range(4)]
    assert judge([curves])[0][::-1] == judge([curves[::-1]])[0]
    assert judge([]) == []


def test_false_verdicts_stay_rare() -> None:
    """20 curves of 8 sizes that share their launches; two curves differ in half of their sizes."""
    generator = np.random.default_rng(5)
    false = 0
    for _ in range(100):
        noise = generator.normal(0, 0.02, (20, 8, 6)) + generator.normal(0, 0.02, (20, 1, 6))
        noise[:2, ::2] += 0.5
        [judged] = judge([[Curve(rows, "higher") for rows in noise]])
        assert all(s.verdict == "faster" for known in judged[:2] for s in known.sizes[::2])
        wrong = [s.verdict for known in judged[:2] for s in known.sizes[1::2]]
        wrong += [known.curve.verdict for known in judged[2:]]
        wrong += [s.verdict for known in judged[2:] for s in known.sizes]
        false += any(verdict in ("faster", "slower", "mixed") for verdict in wrong)
    assert false <= 10  # 5 are allowed, deviation 2.2
