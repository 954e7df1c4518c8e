# SPDX-License-Identifier: Apache-2.0
"""The appraised figure of a table."""

import pytest
from made_tables import H100, MIB, appraised, nccl, nvbandwidth, osu


@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        ("all_reduce", 14 / 8),
        ("all_gather", 7 / 8),
        ("reduce_scatter", 7 / 8),
        ("alltoall", 7 / 8),
        ("broadcast", 1.0),
    ],
)
def test_collectives_have_the_bus_bandwidth_of_nccl_tests(operation: str, factor: float) -> None:
    appraisal = appraised(nccl(H100, [(800 * MIB, 10_000.0)], operation=operation))
    assert appraisal.unit == "GB/s"
    assert appraisal.value == pytest.approx(factor * 800 * MIB / 10_000e3, rel=1e-3)


def test_rates_are_of_the_largest_size_and_times_of_8_bytes() -> None:
    rates = appraised(osu("Bandwidth", [(8, 20.0), (MIB, 11_000.0), (4 * MIB, 11_500.0)]))
    times = appraised(osu("Latency", [(0, 1.0), (8, 1.5), (MIB, 90.0)]))
    assert (rates.value, rates.unit, rates.case.x) == (11.5, "GB/s", 4 * MIB)
    assert (times.value, times.unit, times.case.x) == (1.5, "us", 8)


def test_a_matrix_is_one_figure() -> None:
    text = nvbandwidth(H100, "host_to_device_memcpy_ce", [["55.00", "54.00", "53.00"]])
    appraisal = appraised(text)
    assert (appraisal.value, appraisal.best, appraisal.state) == (53.0, 55.0, "near")
    assert appraisal.place.path == "host-gpu pair host-gpu2"
