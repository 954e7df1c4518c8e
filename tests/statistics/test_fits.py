# SPDX-License-Identifier: Apache-2.0
"""Hockney's model: found again, robust, and refused where the data tells nothing."""

import numpy as np
import pytest

from nearpeak.statistics.fits import DESCRIBES, by_protocol, hockney


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


def test_one_model_where_it_describes_all_sizes() -> None:
    sizes = np.array([1 << power for power in range(24)])
    (fit,) = by_protocol(sizes, 1.5 + sizes / 12e3)
    assert (fit.smallest_bytes, fit.largest_bytes) == (1, 1 << 23)
    assert fit.median_error < 1e-4


def test_two_protocols_are_told_apart_in_any_order() -> None:
    sizes = np.array([1 << power for power in range(24)])
    eager, rendezvous = 0.5 + sizes / 1e3, 60 + sizes / 12e3
    times = np.where(sizes <= 1 << 13, eager, rendezvous)
    low, high = by_protocol(sizes[::-1], times[::-1])
    assert (low.largest_bytes, high.smallest_bytes) == (1 << 13, 1 << 14)
    assert (low.latency_us, low.asymptotic_gbs) == pytest.approx((0.5, 1.0), rel=1e-3)
    assert (high.latency_us, high.asymptotic_gbs) == pytest.approx((60, 12), rel=1e-3)


def test_a_part_that_tells_no_bandwidth_is_left_out() -> None:
    sizes = np.array([1 << power for power in range(24)])
    times = np.where(sizes <= 1 << 13, 1.0, 60 + sizes / 12e3)
    (high,) = by_protocol(sizes, times)
    assert high.smallest_bytes == 1 << 14


def test_what_no_model_describes_has_none() -> None:
    sizes = np.array([1 << power for power in range(24)])
    times = (1.5 + sizes / 12e3) * np.where(np.arange(24) % 2, 3.0, 1.0)
    assert by_protocol(sizes, times) == []
    assert by_protocol([8, 1 << 20], [1.0, 100.0]) == []
    assert by_protocol([8, 16, 32, 64, 128, 256], [1.0, 0.0, 1.0, 2.0, 3.0, 4.0]) == []


def test_all_that_is_given_describes_its_sizes() -> None:
    generator = np.random.default_rng(3)
    sizes = np.array([1 << power for power in range(24)])
    for _ in range(20):
        times = (1.5 + sizes / 12e3) * generator.lognormal(0, 0.3, len(sizes))
        assert all(fit.median_error < DESCRIBES for fit in by_protocol(sizes, times))
