# SPDX-License-Identifier: Apache-2.0
"""Two sides with sessions: known values, what cannot be told, and error rates by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from nearpeak.arrays import Floats
from nearpeak.statistics.session_t_test import (
    PRIOR_FREEDOM,
    SESSION_SCATTER,
    Columns,
    Group,
    JudgedGroup,
    Shift,
    judge,
    mean_row,
    shift,
)
from nearpeak.statistics.verdicts import Verdict

NAN = float("nan")


def columns(old: int, new: int, launches: int) -> Columns:
    sessions = np.repeat(np.arange(old + new), launches)
    return Columns(sessions, np.arange(old + new) >= old)


def test_a_shift_worked_by_hand() -> None:
    # Sessions 0.0 and 0.02, then 0.4 and 0.42, each with launches 0.01 below and above.
    middles = np.repeat([0.0, 0.02, 0.4, 0.42], 2)
    row = middles + np.tile([-0.01, 0.01], 4)
    found = shift(row, columns(2, 2, 2))
    launches = 4 * 0.0002 / 4 / 2 * math.pi / 3  # squares / freedom / launches of a session
    variance = SESSION_SCATTER**2 + launches
    squares = 0.0002 + 0.0002 + PRIOR_FREEDOM * variance
    freedom = 2 + PRIOR_FREEDOM
    error = math.sqrt(squares / freedom * (1 / 2 + 1 / 2))
    reach = stats.t.ppf(0.975, freedom) * error
    assert found.comparison.ratio == pytest.approx(math.exp(0.4))
    assert found.comparison.ci95 == pytest.approx((math.exp(0.4 - reach), math.exp(0.4 + reach)))
    assert found.comparison.p_value == pytest.approx(2 * stats.t.sf(0.4 / error, freedom))
    reach = stats.t.ppf(0.975, 4) * math.sqrt(launches)
    assert found.alone == pytest.approx((math.exp(0.4 - reach), math.exp(0.4 + reach)))
    assert found.history == pytest.approx(np.exp([-0.01, 0.01, 0.39, 0.41]))


def test_sessions_that_do_not_agree_with_the_prior_are_no_surer_than_the_plain_t_test() -> None:
    old, new = [0.0, 0.1, 0.3], [0.5, 0.6, 0.9]
    row = np.repeat([*old, *new], 2) + np.tile([-0.001, 0.001], 6)
    found = shift(row, columns(3, 3, 2)).comparison
    plain = stats.ttest_ind(old, new)
    low, high = plain.confidence_interval()
    assert found.p_value == pytest.approx(plain.pvalue)
    assert found.ci95 == pytest.approx((math.exp(-high), math.exp(-low)))


@pytest.mark.parametrize(("old", "new"), [(2, 2), (3, 3), (5, 5), (1, 3), (10, 1)])
def test_no_more_than_five_percent_differ_however_far_sessions_scatter(old: int, new: int) -> None:
    """By quadrature: the variance of sessions is chi-squared, their difference normal beside it."""
    where, freedom = columns(old, new, 2), old + new - 2
    zigzag = np.zeros(old + new)  # sessions of no difference, whose variance is 1
    for first, last in ((0, old), (old, old + new)):
        count = last - first
        zigzag[first:last] = np.linspace(-1, 1, count) if count > 1 else 0.0
    zigzag /= math.sqrt(float(np.sum(zigzag**2)) / freedom)
    deviations = np.geomspace(1e-4, 2.0, 400)
    launches = np.tile([-1e-6, 1e-6], old + new)
    reaches = [
        np.log(shift(np.repeat(own * zigzag, 2) + launches, where).comparison.ci95)[1]
        for own in deviations
    ]
    shares = (np.arange(2000) + 0.5) / 2000
    for scatter in (0.01, 0.025, 0.05, 0.07, 0.1, 0.15, 0.2):
        own = scatter * np.sqrt(stats.chi2.ppf(shares, freedom) / freedom)
        error = scatter * math.sqrt(1 / old + 1 / new)
        beyond = stats.norm.sf(np.interp(own, deviations, reaches) / error)
        assert 2 * float(np.mean(beyond)) <= 0.0503, scatter  # as exact as the quadrature


def test_one_session_of_each_side_rests_on_the_prior() -> None:
    row = np.array([0.0, 0.0, 0.05, 0.05])
    found = shift(row, columns(1, 1, 2))
    error = SESSION_SCATTER * math.sqrt(2)
    assert found.comparison.p_value == pytest.approx(2 * stats.t.sf(0.05 / error, PRIOR_FREEDOM))
    assert found.alone == pytest.approx((math.exp(0.05), math.exp(0.05)))


def test_strata_that_were_estimated_make_launches_less_sure() -> None:
    row = np.tile([-0.1, 0.0, 0.1], 4)
    known, three = (columns(2, 2, 3)._replace(effects=effects) for effects in (0, 2))
    reach = [np.log(shift(row, of).alone)[1] for of in (known, three)]
    ratio = math.sqrt(8 / 6) * stats.t.ppf(0.975, 6) / stats.t.ppf(0.975, 8)
    assert reach[1] / reach[0] == pytest.approx(ratio)
    assert shift(row, known._replace(effects=8)).alone is None


def test_a_launch_far_off_hardly_moves_its_session() -> None:
    plain = np.array([0.0, 0.01, 0.02, 0.03, 0.04, 0.05] * 2)
    off = plain.copy()
    off[5] = 5.0
    found = shift(off, columns(1, 1, 6)).comparison.ratio
    assert found == pytest.approx(shift(plain, columns(1, 1, 6)).comparison.ratio, rel=0.02)


def test_one_launch_of_each_side_says_nothing() -> None:
    found = shift(np.array([0.0, 1.0]), columns(1, 1, 1))
    assert (found.comparison.ci95, found.comparison.p_value, found.alone) == (None, 1.0, None)
    [judged] = judge([Group([np.array([[0.0, 1.0]])], columns(1, 1, 1))], 0.05)
    assert judged.group.verdict == "undecided"


def test_one_launch_a_session_is_a_plain_t_test() -> None:
    old, new = [0.0, 0.1, 0.3], [0.5, 0.6, 0.9]
    found = shift(np.array(old + new), columns(3, 3, 1))
    assert found.comparison.p_value == pytest.approx(stats.ttest_ind(old, new).pvalue)
    assert found.alone is None


def test_what_a_session_lacks_is_left_out() -> None:
    row = np.array([0.0, 0.2, NAN, NAN, 0.4, NAN])
    found = shift(row, columns(2, 1, 2))
    assert found.comparison.ratio == pytest.approx(math.exp(0.3))
    assert np.isnan(found.history).tolist() == [False, True, False]
    rows = np.array([[0.0, NAN, 2.0], [1.0, NAN, 3.0]])
    assert mean_row(rows) == pytest.approx([0.5, NAN, 2.5], nan_ok=True)


def groups(
    chance: np.random.Generator, where: Columns, sessions: float, loss: float, count: int = 2
) -> list[Group]:
    """Groups of 2 curves with 3 sizes; launches scatter by 3 %, sessions by so much."""
    common = sessions * chance.normal(size=len(where.new)) - loss * where.new
    return [
        Group(
            [
                common[where.sessions] + 0.03 * chance.normal(size=(3, len(where.sessions)))
                for _ in range(2)
            ],
            where,
        )
        for _ in range(count)
    ]


def any_slower(found: list[Group]) -> bool:
    return any(
        verdict.verdict == "slower"
        for judged in judge(found, 0.05)
        for curve in judged.curves
        for verdict in (judged.group, curve.curve, *curve.sizes)
    )


@pytest.mark.parametrize("sessions", [1, 3])
def test_sessions_alone_are_hardly_ever_called_slower(sessions: int) -> None:
    chance = np.random.default_rng(1)
    where = columns(sessions, sessions, 6)
    found = sum(any_slower(groups(chance, where, 0.03, 0.0)) for _ in range(40))
    assert found <= 2


def test_a_loss_of_a_tenth_is_found_with_three_sessions_each() -> None:
    chance = np.random.default_rng(1)
    where = columns(3, 3, 6)
    assert sum(any_slower(groups(chance, where, 0.01, 0.1)) for _ in range(20)) >= 18


def test_no_curve_is_surer_than_its_group_and_no_size_than_its_curve() -> None:
    chance = np.random.default_rng(2)
    for _ in range(5):
        for group in judge(groups(chance, columns(2, 2, 4), 0.02, 0.05), 0.05):
            for curve in group.curves:
                assert curve.curve.p_adjusted >= group.group.p_adjusted
                assert all(size.p_adjusted >= curve.curve.p_adjusted for size in curve.sizes)


@pytest.mark.parametrize(("sessions", "verdict"), [(1, "undecided"), (3, "slower")])
def test_what_a_control_did_too_is_no_change_of_one_session(sessions: int, verdict: str) -> None:
    where = columns(sessions, sessions, 6)
    lost = np.where(where.new[where.sessions], -0.5, 0.0)
    chance = np.random.default_rng(3)
    curve = lost + 0.01 * chance.normal(size=(2, len(lost)))
    control = 0.01 * chance.normal(size=(2, len(lost)))
    [judged] = judge([Group([curve], where, [control])], 0.05)
    assert judged.group.verdict == verdict
    [judged] = judge([Group([curve], where, [curve])], 0.05)
    assert judged.group.verdict == "slower"
    [judged] = judge([Group([curve], where, [np.full_like(curve, NAN)])], 0.05)
    assert judged.group.verdict == verdict


def all_of(judged: JudgedGroup) -> list[tuple[Verdict, Shift]]:
    return [
        (judged.group, judged.shift),
        *((curve.curve, curve.shift) for curve in judged.curves),
        *(pair for curve in judged.curves for pair in zip(curve.sizes, curve.shifts, strict=True)),
    ]


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (1, 1, "undecided"),
        (1, 2, "undecided"),
        (2, 1, "undecided"),
        (2, 2, "slower"),
        (1, 3, "slower"),
        (3, 1, "slower"),
    ],
)
def test_without_a_control_four_sessions_are_needed(old: int, new: int, verdict: str) -> None:
    where = columns(old, new, 6)
    lost = np.where(where.new[where.sessions], -2.0, 0.0)
    curve = lost + 0.01 * np.random.default_rng(3).normal(size=(2, len(lost)))
    [judged] = judge([Group([curve], where)], 0.05)
    for found, change in all_of(judged):
        assert found.verdict == verdict
        assert change.unfounded == (verdict == "undecided")
        assert found.p_adjusted == 1 or not change.unfounded
    [alike] = judge([Group([curve - lost], where)], 0.9)
    assert (alike.group.verdict == "equivalent") == (verdict == "slower")


def test_sessions_are_those_that_measured_the_row() -> None:
    where = columns(3, 3, 2)
    lost = np.where(where.new[where.sessions], -2.0, 0.0)
    curve = lost + 0.001 * np.random.default_rng(3).normal(size=(2, len(lost)))
    curve[1, (where.sessions != 0) & (where.sessions != 5)] = NAN  # one session of each side
    [judged] = judge([Group([curve], where)], 0.05)
    assert [size.verdict for size in judged.curves[0].sizes] == ["slower", "undecided"]
    assert [shift.unfounded for shift in judged.curves[0].shifts] == [False, True]


def test_what_a_control_does_not_cover_founds_no_verdict_of_one_session() -> None:
    where = columns(1, 1, 6)
    on_new = where.new[where.sessions]
    chance = np.random.default_rng(3)

    def noise(sizes: int) -> Floats:
        return 0.01 * chance.normal(size=(sizes, len(on_new)))

    # A curve without controls loses, one with them does not: their mean is no change either.
    lost, kept = noise(2) - 2.0 * on_new, noise(2)
    [judged] = judge([Group([lost, kept], where, [np.full_like(lost, NAN), kept])], 0.05)
    assert {found.verdict for found, _ in all_of(judged)} <= {"undecided", "equivalent"}
    # The loss is in those launches alone that have no control.
    row = noise(1) - 2.0 * (on_new & (np.arange(12) > 7))
    control = np.where((np.arange(12) > 7) | (np.arange(12) < 4), NAN, row)
    [judged] = judge([Group([row], where, [control])], 0.05)
    assert judged.group.verdict == "undecided"
    # A control of one side alone is none.
    row = noise(1) - 2.0 * on_new
    [judged] = judge([Group([row], where, [np.where(on_new, row, NAN)])], 0.05)
    assert (judged.group.verdict, judged.shift.unfounded) == ("undecided", True)


@pytest.mark.parametrize(("old", "new"), [(1, 1), (1, 2), (2, 2), (3, 3)])
def test_sessions_that_scatter_by_five_percent_are_seldom_called_slower(old: int, new: int) -> None:
    """The worst case of benchmarks/compare_power.py: one size of a library, and its ceiling."""
    chance = np.random.default_rng(1)
    where = columns(old, new, 6)
    count = 0
    for _ in range(200):
        library, ceiling = (
            0.05 * chance.normal(size=old + new)[where.sessions]
            + 0.01 * chance.normal(size=(1, len(where.sessions)))
            for _ in range(2)
        )
        found = [Group([library], where, [library - ceiling]), Group([ceiling], where)]
        count += any_slower(found)
    assert count <= 16  # of 5 %, 200 draws have more than that in 1 of 50


def test_small_sure_differences_are_equivalent() -> None:
    row = np.repeat([0.0, 0.001, 0.02, 0.021], 20) + 1e-4 * np.tile([1, -1], 40)
    where = columns(2, 2, 20)
    [judged] = judge([Group([row[None, :]], where)], 0.1)
    assert judged.group.verdict == "equivalent"


@pytest.mark.parametrize("sign", [1, -1])
def test_a_change_of_one_size_is_the_curves_direction(sign: int) -> None:
    chance = np.random.default_rng(1)
    where = columns(3, 3, 6)
    size = 0.01 * chance.normal(size=36) + sign * where.new[where.sessions]
    others = [0.3 * chance.normal(size=36) for _ in range(7)]
    [found] = judge([Group([np.array([size, *others])], where)], 0.05)
    [curve] = found.curves
    word = "faster" if sign > 0 else "slower"
    assert [one.verdict for one in curve.sizes] == [word] + ["undecided"] * 7
    assert (curve.curve.verdict, found.group.verdict) == (word, word)


def test_changes_in_both_directions_are_mixed() -> None:
    chance = np.random.default_rng(1)
    where = columns(3, 3, 6)
    rows = [0.01 * chance.normal(size=36) + way * where.new[where.sessions] for way in (1, -1)]
    [found] = judge([Group([np.array(rows)], where)], 0.05)
    assert (found.curves[0].curve.verdict, found.group.verdict) == ("mixed", "mixed")
    [found] = judge([Group([rows[0][None, :], rows[1][None, :]], where)], 0.05)
    assert [curve.curve.verdict for curve in found.curves] == ["faster", "slower"]
    assert found.group.verdict == "mixed"
