# SPDX-License-Identifier: Apache-2.0
"""Algorithm and bus bandwidth, by nccl-tests' factors. Times are written by hand."""

from typing import Any

import pytest

from nearpeak.results.bandwidths import add
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule, Traffic


def told(by_hand: Any, traffic: Traffic | None, us: float | None) -> tuple[Any, Any]:
    """Of 1 MiB between two ranks."""
    cell = by_hand.make_cell("allreduce", us or 1.0, x=by_hand.MIB)
    cell.median = us
    rule = RankRule("at least", 2)
    add(cell, Benchmark("allreduce", [Metric("allreduce", "us", "lower")], rule, traffic=traffic))
    return cell.algbw_gbs, cell.busbw_gbs


def test_blocks_of_all_ranks_are_the_data_of_an_operation(by_hand: Any) -> None:
    """Two blocks of 1 MiB in 200 us, of which each rank receives one."""
    found = told(by_hand, Traffic(once=-1, times_ranks=1), 200.0)
    assert found == pytest.approx((10.48576, 5.24288))


@pytest.mark.parametrize(
    ("traffic", "us"), [(None, 1.0), (Traffic(), 1.0), (Traffic(once=1), None)]
)
def test_what_moves_nothing_or_has_no_time_has_none(by_hand: Any, traffic: Any, us: Any) -> None:
    assert told(by_hand, traffic, us) == (None, None)
