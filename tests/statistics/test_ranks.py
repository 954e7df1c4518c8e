# SPDX-License-Identifier: Apache-2.0
"""Who is first, and how sure that is."""

import numpy as np
import pytest

from nearpeak.statistics.ranks import first_shares, leaders


def test_one_that_is_always_ahead_is_first_alone() -> None:
    shares = first_shares([[1.0, 1.1, 0.9, 1.0, 1.05, 0.95], [2.0, 2.1, 1.9, 2.0, 2.05, 1.95]])
    assert shares.tolist() == [0.0, 1.0]
    assert leaders(shares) == [1]


def test_what_a_block_does_to_both_cancels() -> None:
    blocks = np.array([0.0, 3.0, -2.0, 5.0, 1.0, -4.0])
    assert leaders(first_shares([blocks, blocks + 0.01])) == [1]


def test_equals_share_the_first_place() -> None:
    shares = first_shares([[1.0] * 6, [1.0] * 6, [0.5] * 6])
    assert shares.tolist() == [0.5, 0.5, 0.0]
    assert leaders(shares) == [0, 1]


def test_a_failure_counts_against() -> None:
    fails = -np.inf
    assert leaders(first_shares([[9.0, fails, fails, fails, fails, fails], [1.0] * 6])) == [1]
    sometimes = first_shares([[9.0, 9.0, 9.0, 9.0, 9.0, fails], [1.0] * 6])
    assert 0.9 < sometimes[0] < 1.0  # where it is drawn three times, the other one is first


def test_nobody_is_first_where_all_failed() -> None:
    shares = first_shares([[-np.inf] * 6, [-np.inf] * 6])
    assert shares.tolist() == [0.0, 0.0]
    assert leaders(shares) == []


def test_the_same_seed_gives_the_same_shares() -> None:
    scores = np.random.default_rng(1).normal(size=(3, 9))
    assert first_shares(scores).tolist() == first_shares(scores).tolist()
    assert first_shares(scores).sum() == pytest.approx(1.0)


def test_as_few_leaders_as_are_sure_together() -> None:
    assert leaders([0.03, 0.95, 0.02]) == [1]
    assert leaders([0.04, 0.90, 0.06]) == [1, 2]
    assert leaders([0.30, 0.30, 0.40]) == [2, 0, 1]
