# SPDX-License-Identifier: Apache-2.0
"""Algorithm and bus bandwidth, by nccl-tests' factors."""

import pytest

from nearpeak.report.bandwidths import bandwidths
from nearpeak.results.results import Results


def test_blocks_of_all_ranks_are_the_data_of_an_operation(collective: Results) -> None:
    rates = bandwidths(collective)
    found = {
        (cell.case.benchmark, cell.case.x): rates(cell)
        for cell in collective.cells
        if cell.case.benchmark in ("allgather", "barrier", "latency")
    }
    large = found["allgather", 1 << 20]
    assert large is not None
    assert (large.algorithm, large.bus) == pytest.approx((10.48576, 5.24288))
    assert found["barrier", 0] is None
    assert found["latency", 64] is None


def test_without_a_time_there_are_none(collective: Results) -> None:
    cell = next(one for one in collective.cells if one.case.benchmark == "allgather")
    cell.median = None
    assert bandwidths(collective)(cell) is None
