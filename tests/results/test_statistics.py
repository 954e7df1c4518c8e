# SPDX-License-Identifier: Apache-2.0
"""The statistics against worked examples, and by simulation (every seed is fixed)."""

import numpy as np
import pytest

from nearpeak.results.statistics import (
    drifting,
    hockney,
    holm,
    p_values,
    rejects_normality,
    two_modes,
    two_paces,
)


def test_holm_worked_by_hand() -> None:
    # Sorted: 0.005 x 4 = 0.02, 0.01 x 3 = 0.03, 0.03 x 2 = 0.06, 0.04 x 1 = 0.04 -> 0.06.
    adjusted = holm([0.01, 0.04, 0.03, 0.005])
    assert adjusted.tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


def test_p_values_of_the_paired_t_test() -> None:
    # Worked by hand: mean 2, deviation 1, t = 2 sqrt(3) = 3.4641; with 2 degrees of freedom the
    # distribution is known in closed form: p = 1 - t / sqrt(2 + t^2).
    t = 2 * np.sqrt(3)
    p = p_values([np.array([1.0, 2.0, 3.0]), np.array([1.0]), np.array([0.0, 0.0, 0.0])])
    assert p[0] == pytest.approx(1 - t / np.sqrt(2 + t * t))
    assert p[1] == 1  # one pair says nothing
    assert p[2] == 1  # not the least difference
    assert p_values([np.array([0.5, 0.5, 0.5])])[0] == pytest.approx(0, abs=1e-6)
    assert p_values([]).tolist() == []


def test_why_not_a_rank_test() -> None:
    """Judged cells of 96, 8 curves that share launches, by the t-test and by Wilcoxon's."""
    from scipy import stats

    generator = np.random.default_rng(3)

    def judged(effect: float, noise: float = 0.02) -> tuple[float, float]:
        shares = []
        for _ in range(40):
            shape = (8, 12, 6)
            launches = [
                np.repeat(generator.normal(0, noise / np.sqrt(2), (8, 1, 6)), 12, axis=1)
                + generator.normal(0, noise / np.sqrt(2), shape)
                for _ in range(2)
            ]
            pairs = (launches[0] - launches[1] + np.log(1 + effect)).reshape(96, 6)
            by_rank = stats.wilcoxon(pairs, axis=1).pvalue
            shares.append(
                ((holm(p_values(list(pairs))) < 0.05).mean(), (holm(by_rank) < 0.05).mean())
            )
        t, rank = np.mean(shares, axis=0)
        return float(t), float(rank)

    t_same, rank_same = judged(0.0)
    t_other, rank_other = judged(0.1)
    assert t_same <= 0.01  # 5 % are allowed
    assert t_other >= 0.9
    assert rank_same == rank_other == 0  # never: its least p is 2/64


def test_normality_is_rejected_where_there_is_none() -> None:
    generator = np.random.default_rng(4)
    normal = [generator.normal(0, 1, 12) for _ in range(400)]
    bimodal = [generator.permutation([0.0] * 6 + [1.0] * 6) for _ in range(10)]
    assert 8 <= rejects_normality(normal) <= 34  # 5 % of 400, deviation 4.4
    assert rejects_normality(bimodal) == 10
    assert rejects_normality([np.zeros(6), np.zeros(2)]) == 0
    assert rejects_normality([np.array([1.0] * 5 + [1 + 2e-16])]) == 0  # rounding is no spread


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


def test_drift() -> None:
    assert drifting([0.0, 0.01, -0.01, 0.01, -0.2, 0.0]).tolist() == [False] * 4 + [True, False]
    assert not drifting([0.03, -0.03, 0.02, -0.02, 0.03, 0.0]).any()  # noise, no trend
    assert drifting([0.035, 0.03, 0.01, -0.01, -0.03, -0.035]).tolist() == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]
    assert not drifting([0.0]).any()


def test_hockney_finds_its_own_model() -> None:
    sizes = np.array([0] + [1 << power for power in range(27)])
    fit = hockney(sizes, 1.5 + sizes / 12e3)  # 1.5 us, 12 GB/s
    assert fit is not None
    assert fit.latency_us == pytest.approx(1.5, rel=1e-4)
    assert fit.asymptotic_gbs == pytest.approx(12, rel=1e-4)
    assert fit.half_peak_bytes == pytest.approx(18000, rel=1e-4)
    assert fit.worst_error < 1e-4


def test_hockney_is_robust_and_says_how_badly_it_fits() -> None:
    sizes = np.array([1 << power for power in range(27)])
    times = 1.5 + sizes / 12e3
    times[12] *= 4
    fit = hockney(sizes, times)
    assert fit is not None
    assert fit.latency_us == pytest.approx(1.5, rel=0.1)
    assert fit.asymptotic_gbs == pytest.approx(12, rel=0.1)
    assert fit.worst_error == pytest.approx(0.75, abs=0.05)


def test_hockney_does_not_depend_on_last_digits() -> None:
    generator = np.random.default_rng(7)
    sizes = np.array([0] + [1 << power for power in range(24)])
    for _ in range(20):
        step = np.where(sizes > 1 << generator.integers(8, 18), generator.uniform(1, 3), 1)
        times = (1.5 + sizes / 12e3) * step * generator.lognormal(0, 0.2, len(sizes))
        fit = hockney(sizes, times)
        rounded = times * generator.choice([1 - 2e-16, 1, 1 + 3e-16], len(sizes))
        again = hockney(sizes[::-1], rounded[::-1])
        assert fit is not None
        assert again is not None
        assert tuple(again) == pytest.approx(tuple(fit), rel=1e-11)


def test_hockney_refuses_what_cannot_be_fitted() -> None:
    assert hockney([8, 1 << 20], [1.0, 100.0]) is None  # two sizes
    assert hockney([1, 2, 4, 8], [1.0, 1.0, 1.0, 1.0]) is None  # latency alone
    assert hockney([1, 2, 1 << 20], [0.0, 1.0, 100.0]) is None
    large = [1 << power for power in range(20, 26)]
    assert hockney(large, [size / 12e3 for size in large]) is None  # no latency to be seen
    assert hockney(large, [(size - 1e5) / 12e3 for size in large]) is None  # less than none
    assert hockney([10**9, 10**9 + 1, 10**9 + 2], [1.0, 1.5, 3.0]) is None  # all but one size


@pytest.mark.parametrize(
    ("samples", "upper"),
    [
        ([1.0] * 6 + [2.0] * 4, 4),
        ([1.0, 1.01, 1.02, 0.99] * 5 + [1.2, 1.21, 1.19, 1.2] * 2, 8),
        ([1.0] * 6 + [1.04] * 6, None),  # nearer than 5 %
        ([1.0] * 18 + [2.0] * 2, None),  # a few outliers are no pace
        ([1.0] * 4 + [2.0] * 4, None),  # too few samples
        (list(np.linspace(1.0, 2.0, 40)), None),  # no valley
        ([0.0] * 6 + [2.0] * 6, None),
    ],
)
def test_two_paces(samples: list[float], upper: int | None) -> None:
    found = two_paces(samples)
    assert (None if found is None else int(found.sum())) == upper
