# SPDX-License-Identifier: Apache-2.0
"""Hockney's model per curve: times as they are, rates as the time of one message."""

from typing import Any

import pytest

from nearpeak.results.fits import fit

MakeStudy = Any


def test_every_curve_is_fitted(make_study: MakeStudy) -> None:
    study = make_study()
    sizes = [1 << power for power in range(0, 24, 3)]
    times = {size: 2.0 + size / 10e3 for size in sizes}  # 2 us, 10 GB/s
    study.launch(0, "alpha", "latency", {0: 2.0, **times})
    study.launch(0, "alpha", "bw", {0: 0.0, **{s: s / t / 1e3 for s, t in times.items()}})
    study.ceiling(0, {("latency", "flag", size): time / 2 for size, time in times.items()})
    fits = {(fit.who.library, fit.curve.benchmark): fit for fit in study.results().fits}
    assert set(fits) == {("alpha", "latency"), ("alpha", "bw"), ("", "latency")}
    for benchmark in ("latency", "bw"):
        fit = fits["alpha", benchmark]
        assert fit.latency_us == pytest.approx(2, rel=1e-3)
        assert fit.asymptotic_gbs == pytest.approx(10, rel=1e-3)
        assert fit.half_peak_bytes == pytest.approx(20000, rel=1e-3)
    assert fits["", "latency"].asymptotic_gbs == pytest.approx(20, rel=1e-3)


def test_a_rate_of_both_ways_is_of_twice_the_bytes(make_study: MakeStudy) -> None:
    study = make_study()
    sizes = [1 << power for power in range(0, 24, 3)]
    times = {size: 2.0 + size / 10e3 for size in sizes}
    study.launch(0, "alpha", "bibw", {s: 2 * s / t / 1e3 for s, t in times.items()})
    (fit,) = study.results().fits
    assert fit.latency_us == pytest.approx(2, rel=1e-3)
    assert fit.asymptotic_gbs == pytest.approx(10, rel=1e-3)


def test_no_library_comes_to_more_than_the_ceiling_carries(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    sizes = [1 << power for power in range(0, 24, 3)]
    study.ceiling(0, {("bw", "ring", size): size / (1.0 + size / 8e3) / 1e3 for size in sizes})
    study.launch(0, "alpha", "bw", {size: size / (2.0 + size / 10e3) / 1e3 for size in sizes})
    study.launch(0, "beta", "bw", {size: size / (2.0 + size / 7e3) / 1e3 for size in sizes})
    found = {fit.who.library: fit.asymptotic_gbs for fit in study.results().fits}
    assert found == {"": pytest.approx(8, rel=1e-3), "beta": pytest.approx(7, rel=1e-3)}


def test_too_few_sizes_are_not_fitted(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "latency", {8: 1.0, 1 << 20: 100.0})
    assert study.results().fits == []


@pytest.mark.parametrize(("buffers", "least"), [("H,H", 0), ("H,D", 8), ("D,D", 8)])
def test_an_empty_message_says_nothing_of_a_devices_memory(
    by_hand: Any, buffers: str, least: int
) -> None:
    times = {0: 0.3, **{8 << power: 10 + (8 << power) / 10e3 for power in range(0, 21, 3)}}
    cells = [by_hand.make_cell("latency", us, x=x, buffers=buffers) for x, us in times.items()]
    assert fit(cells, [], by_hand.BENCHMARKS)[0].smallest_bytes == least
