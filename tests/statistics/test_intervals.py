# SPDX-License-Identifier: Apache-2.0
"""The interval of a median: known values, invariances, and its coverage by simulation."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from nearpeak.arrays import Floats
from nearpeak.statistics.intervals import (
    GOAL_HIGHER,
    all_precise,
    expected_half_width,
    goal,
    half_width,
    interval,
    ordered_deviation,
    precise,
    spanning,
    weights,
)


def test_weights_worked_by_hand() -> None:
    # 6 values: 1 - 2/64 = 31/32 and 1 - 14/64 = 25/32; a tenth of the way is 0.95, and
    # (6 - 1) / 10 / (1 + 4 / 10) = 5/14.
    assert weights(6) == pytest.approx((1, 5 / 14))
    assert weights(9) == pytest.approx((2, 49 / 215))
    assert weights(5) is None
    assert weights(5, 0.9) is not None


@pytest.mark.parametrize("n", [6, 7, 8, 11, 25])
def test_the_interpolation_is_exact_for_laplace(n: int) -> None:
    """The chance that the interpolated end is above the median, for a Laplace distribution."""
    found = weights(n)
    assert found is not None
    k, share = found
    # Given how many values lie below the median, those are exponential; the k-th smallest is
    # below by E1, the next above by E2, smallest of k and n - k: P((1 - w) E1 < w E2).
    one_short = stats.binom.pmf(k, n, 0.5) * share * k / (share * k + (1 - share) * (n - k))
    assert 2 * (stats.binom.cdf(k - 1, n, 0.5) + one_short) == pytest.approx(0.05, abs=1e-12)


def test_ends_lie_between_order_statistics() -> None:
    low, high = interval([6, 1, 5, 2, 4, 3]) or (0, 0)
    assert (low, high) == pytest.approx((1 + 5 / 14, 6 - 5 / 14))


def test_no_interpolation_over_a_gap() -> None:
    """All values but one alike: the end stays where the one is."""
    assert interval([0, 1, 1, 1, 1, 1]) == (0, 1)
    low, high = interval([0, 0.99, 0.99, 0.99, 1, 1]) or (0, 0)
    assert (low, high) == (pytest.approx(0.01 * 5 / 14), 1)


@pytest.mark.parametrize("n", range(6))
def test_no_interval_below_six(n: int) -> None:
    assert interval([1.0] * n) is None
    assert half_width([1.0] * n) is None
    assert expected_half_width(1, n) is None
    assert not precise([1.0] * n, "higher")


def test_scale_shift_sign_and_order_do_not_matter() -> None:
    generator = np.random.default_rng(1)
    for n in (6, 8, 13):
        values = generator.lognormal(0, 1, n)
        sessions = (np.arange(n) % 3).tolist()
        bounds = interval(values, sessions=sessions)
        assert bounds is not None
        order = generator.permutation(n)
        again = interval(values[order], sessions=np.array(sessions)[order].tolist())
        assert again == pytest.approx(bounds)
        scaled = interval(5 - 3 * values, sessions=sessions)
        assert scaled == pytest.approx((5 - 3 * bounds[1], 5 - 3 * bounds[0]))


DRAW: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda g, size: g.normal(0, 1, size),
    "skewed": lambda g, size: g.exponential(1, size) - np.log(2),
    "heavy": lambda g, size: g.standard_t(2, size),
    "two modes": lambda g, size: np.where(g.random(size) < 0.5, -5, 5) + g.normal(0, 0.05, size),
}


@pytest.mark.parametrize("n", [6, 7, 8, 9, 12])
@pytest.mark.parametrize("shape", DRAW)
def test_coverage(n: int, shape: str) -> None:
    values = DRAW[shape](np.random.default_rng(1), (4000, n))
    bounds = [interval(row) for row in values]
    covered = sum(b[0] <= 0 <= b[1] for b in bounds if b is not None)
    assert 0.94 <= covered / 4000 <= (0.995 if shape == "two modes" else 0.965)


def test_one_session_is_no_factor() -> None:
    values = [1.0, 1.1, 0.9, 1.05, 1.02, 0.97]
    assert interval(values, sessions=[3] * 6) == interval(values)
    assert interval(values, sessions=range(6)) == interval(values)  # each its own


def test_two_sessions_lie_within_what_was_measured() -> None:
    """From an interrupted study: with Student's t the interval was [0.00131, 16.1]."""
    values = [0.130, 0.135, 0.139, 0.15, 0.18, 0.359]
    for sessions in (
        [0, 1, 1, 1, 1, 1],
        [1, 1, 0, 1, 1, 1],
        [1, 1, 1, 1, 1, 0],
        [0, 0, 0, 1, 1, 1],
    ):
        low, high = interval(values, sessions=sessions, positive=True) or (0, 0)
        assert 0.130 <= low < 0.139 < 0.18 < high <= 0.359


def test_the_interval_of_two_sessions_that_differ_spans_both() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.05, 1.02, 0.97, 1.01, 0.99, 1.03, 2.9, 3.0, 3.1])
    numbers = [0] * 9 + [1] * 3
    low, high = interval(values, sessions=numbers) or (0, 0)
    assert (low, high) == ((interval(values) or (0, 0))[0], 3.0)
    alike = [0] * 6 + [1] * 6
    assert interval(values, sessions=alike) == interval(values)


def test_a_session_that_was_cut_off_counts_with_its_launches_alone() -> None:
    """From a study interrupted in its first block: with that session the interval was [2, 195]."""
    values = [35.9, 36.2, 36.5, 35.0, 37.1, 36.8, 36.1, 35.5, 36.3, 36.0, 37.0, 36.6]
    values += [6.86, 31.3, 30.9, 32.0, 31.1, 31.6]
    numbers = [0] * 12 + [1] + [2] * 5
    low, high = interval(values, sessions=numbers, positive=True) or (0, 0)
    assert low == pytest.approx(31.3)  # the middle of the last one
    assert high == (interval(values) or (0, 0))[1]


def test_sessions_that_agree_change_nothing_and_others_widen() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.05, 1.02, 0.97])
    every = np.concatenate([values, values + 0.001, values + 0.002])
    numbers = np.repeat(np.arange(3), 6).tolist()
    assert interval(every, sessions=numbers) == interval(every)
    apart = np.concatenate([values, values + 1, values + 2])
    # Student's of the three medians, 1.01, 2.01 and 3.01.
    far = 4.3027 / np.sqrt(3)
    assert interval(apart, sessions=numbers) == pytest.approx((2.01 - far, 2.01 + far), abs=0.001)


def test_six_sessions_have_the_interval_of_six_values() -> None:
    shifts = [0.0, 1.0, 2.0, 3.0, 4.0, 50.0]
    values = np.concatenate([np.array([-0.1, 0.0, 0.1]) + shift for shift in shifts])
    numbers = np.repeat(np.arange(6), 3).tolist()
    assert interval(values, sessions=numbers) == pytest.approx(interval(shifts))
    # Not so at a level for which six are too few.
    low, high = interval(values, 0.99, sessions=numbers) or (0, 0)
    assert low < -1 < 40 < high


def test_what_can_only_be_positive_stays_so() -> None:
    """Three sessions that differ by a third: the interval of a time must not reach below 0."""
    values = [2.0, 2.2, 2.1, 2.0, 0.4, 0.5, 0.6, 1.3, 1.2, 1.1]
    numbers = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    low, high = interval(values, sessions=numbers) or (0, 0)
    assert low < 0 < 2.2 < high
    low, high = interval(values, sessions=numbers, positive=True) or (0, 0)
    assert 0 < low < 0.4 < 2.2 < high
    # The same of a rate that is one over the time: the ends change places.
    rates = interval([1 / value for value in values], sessions=numbers, positive=True) or (0, 0)
    assert rates == pytest.approx((1 / high, 1 / low), rel=0.02)
    alone = [0] * 10
    assert interval(values, sessions=alone, positive=True) == interval(values, sessions=alone)


def test_sessions_deviate_by_factors_where_they_deviate_little() -> None:
    values = np.array([100, 101, 99, 100.5, 101, 102, 100, 101.5, 104, 103.2, 103, 103.7])
    numbers = np.repeat(np.arange(3), 4).tolist()
    low, high = interval(values, sessions=numbers) or (0, 0)
    near = interval(values, sessions=numbers, positive=True)
    assert near == pytest.approx((low, high), rel=0.01)
    assert half_width(values, numbers) == pytest.approx((high - low) / 2 / 101.25, rel=0.1)


@pytest.mark.parametrize("sizes", [(3, 3), (5, 1), (6, 6), (11, 1), (12, 1, 5)])
@pytest.mark.parametrize("deviation", [0.0, 0.5, 1.0, 5.0])
def test_sessions_cover_the_median_of_their_own_launches(
    sizes: tuple[int, ...], deviation: float
) -> None:
    generator = np.random.default_rng(5)
    sessions = np.repeat(np.arange(len(sizes)), sizes)
    held = []
    for _ in range(1000):
        shift = deviation * generator.normal(0, 1, len(sizes))[sessions]
        values = shift + generator.normal(0, 1, len(sessions))
        low, high = interval(values, sessions=sessions.tolist()) or (0, 0)
        # So many of the launches are below each end, of all that these sessions may have.
        below = [float(np.mean(stats.norm.cdf(end - shift))) for end in (low, high)]
        held.append(below[0] <= 0.5 <= below[1])
        assert values.min() <= low
        assert high <= values.max()
    assert np.mean(held) >= 0.93


def test_coverage_with_sessions() -> None:
    generator = np.random.default_rng(3)
    numbers = np.repeat(np.arange(3), 6).tolist()
    shift = np.repeat(generator.normal(0, 1, (2000, 3)), 6, axis=1)
    values = shift + generator.normal(0, 1, (2000, 18))
    bounds = [interval(row, sessions=numbers) for row in values]
    assert sum(b[0] <= 0 <= b[1] for b in bounds if b is not None) / 2000 >= 0.91
    plain = [interval(row) for row in values]
    assert sum(b[0] <= 0 <= b[1] for b in plain if b is not None) / 2000 <= 0.8


def test_the_goal_depends_on_the_metric() -> None:
    assert goal("higher") == 0.02
    assert goal("lower") == 0.03
    medians = [0.96, 0.985, 1.0, 1.0, 1.015, 1.04]  # half-width 3.1 % by interpolation
    assert half_width(medians) == pytest.approx(0.04 - 0.025 * 5 / 14)
    assert not precise(medians, "lower")
    better = [0.97, 0.98, 1.0, 1.0, 1.02, 1.03]
    assert precise(better, "lower")
    assert not precise(better, "higher")
    assert not precise([-1.0] * 6, "lower")  # nothing to be relative to


def test_looks_keep_the_coverage_near_nominal() -> None:
    """Stopping at 6, 9 or 12 as soon as the interval is narrow costs little coverage."""
    generator = np.random.default_rng(2)
    covered = 0
    for launches in generator.lognormal(0, 0.02, (4000, 12)):
        look = next((n for n in (6, 9) if precise(launches[:n], "higher")), 12)
        bounds = interval(launches[:look])
        assert bounds is not None
        covered += bounds[0] <= 1 <= bounds[1]
    assert covered / 4000 >= 0.93


@pytest.mark.parametrize("n", [6, 9, 12, 30])
def test_expected_half_width(n: int) -> None:
    bounds = [interval(row) for row in np.random.default_rng(4).normal(0, 1, (4000, n))]
    mean = np.mean([(b[1] - b[0]) / 2 for b in bounds if b is not None])
    assert expected_half_width(0.1, n) == pytest.approx(0.1 * mean, rel=0.03)


def test_the_span_of_intervals() -> None:
    assert spanning([(1.0, 2.0), (1.5, 3.0)]) == (1.0, 3.0)
    assert spanning([(1.0, 2.0), None]) is None
    assert spanning([]) is None


@pytest.mark.parametrize(
    ("rank", "n", "deviation"),
    [(1, 1, 1.0), (1, 2, 0.8256), (1, 3, 0.7480), (2, 3, 0.6698), (4, 4, 0.7012), (3, 4, 0.6004)],
)
def test_of_several_the_least_one_scatters_less(rank: int, n: int, deviation: float) -> None:
    # Teichroew, Annals of Mathematical Statistics 27 (1956) 410
    assert ordered_deviation(rank, n) == pytest.approx(deviation, abs=1e-4)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_alternatives_that_are_alike_are_not_taken_for_more_precise(count: int) -> None:
    random = np.random.default_rng(7)
    blocks, sessions = 12, [0] * 12
    # So that a single one of them would just be precise, on average.
    scatter = GOAL_HIGHER / (expected_half_width(1.0, blocks) or 0.0)

    def ends(apart: float) -> int:
        """How often all are, where their middles are so many deviations apart."""
        middles = 1 + scatter * apart * np.arange(count)[:, None]
        drawn = (middles + scatter * random.standard_normal((count, blocks)) for _ in range(200))
        return sum(all_precise(values.tolist(), "higher", sessions) for values in drawn)

    far = ends(6.0)
    assert 10 < far < 150
    assert ends(0.0) < 1.2 * far
    assert ends(0.5) < 1.2 * far


def test_alternatives_are_precise_together_whoever_has_which_value() -> None:
    near, far = [1.0, 1.001, 0.999, 1.0, 1.001, 1.0], [2.0, 2.001, 1.999, 2.0, 2.001, 2.0]
    both = list(zip(near, far, strict=True))
    turned = [[pair[(n + side) % 2] for n, pair in enumerate(both)] for side in (0, 1)]
    sessions = [0] * 6
    assert all_precise([near, far], "higher", sessions)
    assert all_precise(turned, "higher", sessions)
    assert not all_precise([near, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]], "higher", sessions)
    assert not all_precise([[], []], "higher", [])
