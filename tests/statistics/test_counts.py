# SPDX-License-Identifier: Apache-2.0
"""Failures on both sides: known p-values, what counts allow, and the error rate by simulation."""

import numpy as np
import pytest
from scipy import stats

from nearpeak.statistics.counts import Counts, judge, needed


def p_values(*counts: Counts) -> list[float]:
    return [judged.p_value for judged in judge(counts)]


def test_it_is_fishers_exact_test() -> None:
    for counts in (
        Counts(0, 12, 3, 12),
        Counts(2, 9, 5, 6),
        Counts(4, 30, 1, 6),
        Counts(6, 6, 6, 6),
    ):
        table = [
            [counts.new_failed, counts.new - counts.new_failed],
            [counts.old_failed, counts.old - counts.old_failed],
        ]
        expected = stats.fisher_exact(table, alternative="greater").pvalue
        assert p_values(counts) == [pytest.approx(float(expected))]
    assert p_values(Counts(0, 6, 0, 6)) == [1]


def test_what_always_fails_is_judged_as_soon_as_counts_allow() -> None:
    [two, three] = [judge([Counts(0, n, n, n)])[0] for n in (2, 3)]
    assert (two.p_value, two.more) == (1 / 6, False)
    assert (three.p_value, three.more) == (1 / 20, True)  # exactly the level


def test_questions_that_cannot_reach_the_level_take_nothing_from_it() -> None:
    once, always = Counts(0, 6, 1, 6), Counts(0, 6, 6, 6)
    found = judge([always, *[once] * 500, *[Counts(0, 6, 0, 6)] * 500])
    assert found[0].p_adjusted == found[0].p_value
    assert not any(judged.more for judged in found[1:])


def test_it_steps_down() -> None:
    first, second = judge([Counts(0, 6, 6, 6), Counts(0, 6, 5, 6)])
    assert first.p_adjusted == pytest.approx(first.p_value)  # five failures cannot reach 1 / 924
    alike = judge([Counts(0, 6, 5, 6)] * 2)
    assert [judged.p_adjusted for judged in alike] == [pytest.approx(2 * second.p_value)] * 2
    assert second.p_adjusted == pytest.approx(second.p_value)


def test_adjusted_values_never_fall_below_those_before() -> None:
    chance = np.random.default_rng(1)
    counts = [Counts(int(old), 9, int(new), 12) for old, new in chance.integers(0, 9, (40, 2))]
    found = sorted(judge(counts))
    assert all(judged.p_adjusted >= judged.p_value for judged in found)
    adjusted = [judged.p_adjusted for judged in found]
    assert adjusted == sorted(adjusted)


def test_how_many_tries_would_judge_it() -> None:
    assert needed(Counts(0, 12, 1, 12)) == 60  # five of sixty: 0.5 ** 5 nearly
    assert needed(Counts(0, 2, 2, 2)) == 3
    assert needed(Counts(0, 2, 2, 2), questions=2) == 4
    assert needed(Counts(1, 12, 1, 12)) is None
    assert needed(Counts(0, 1000, 1, 1000)) is None


def test_a_run_of_failures_that_ends_tries_is_held_against_how_often_others_fail() -> None:
    # A study gives up after three: it was launched three times because it failed three times.
    given_up = Counts(0, 12, 3, 3, run=True)
    seldom, often = [Counts(1, 12, 1, 12)] * 50, [Counts(4, 12, 4, 12)] * 50
    assert judge([given_up, *seldom])[0].p_adjusted == pytest.approx(1 / 455)
    assert judge([given_up, *often])[0].p_adjusted == 1
    assert judge([given_up._replace(run=False), *often])[0].more
    everywhere = [Counts(0, 12, 3, 3, run=True)] * 20  # they say nothing of one another
    assert all(judged.more for judged in judge([Counts(0, 12, 6, 6, run=True)] * 20))
    assert judge(everywhere)[0].p_adjusted == pytest.approx(20 / 455)


def test_what_is_dead_is_sure_however_much_is_unless_runs_are_expected() -> None:
    dead = [Counts(0, 10, 3, 3, run=True)] * 24
    assert all(judged.more for judged in judge(dead))
    assert judge(dead)[0].p_adjusted > 0.05
    flaky = [Counts(2, 10, 2, 10)] * 24
    assert not any(judged.more for judged in judge([*dead, *flaky]))
    assert not any(judged.more for judged in judge([Counts(0, 2, 3, 3, run=True)] * 24))
    assert not any(judged.more for judged in judge([Counts(0, 10, 2, 2)] * 24))


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_sides_that_fail_alike_are_seldom_told_apart(rate: float) -> None:
    chance = np.random.default_rng(1)
    wrong = 0
    for _ in range(100):
        failed = chance.binomial(12, rate, (20, 2)).tolist()
        wrong += any(
            judged.more for judged in judge([Counts(old, 12, new, 12) for old, new in failed])
        )
    assert wrong <= 11  # of 5 %, 100 draws have more than that in 1 of 100
