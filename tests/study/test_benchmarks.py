# SPDX-License-Identifier: Apache-2.0
"""What follows from what a benchmark says of itself."""

import pytest

from nearpeak.study.benchmarks import Benchmark, Metric, RankRule, Traffic


def test_sizes_below_the_smallest_are_left_out_and_what_has_none_is_measured_once() -> None:
    metrics, ranks = [Metric("x", "us", "lower")], RankRule("at least", 2)
    numbers = Benchmark("allreduce", metrics, ranks, smallest=4)
    assert numbers.sizes([0, 1, 4, 64]) == [4, 64]
    assert Benchmark("barrier", metrics, ranks, sized=False).sizes([8, 64]) == [0]


@pytest.mark.parametrize(
    ("traffic", "expected"),
    [
        (Traffic(once=1), 1000),  # broadcast
        (Traffic(once=2, by_ranks=-2), 1500),  # allreduce: 2 (n - 1) / n
        (Traffic(once=-1, times_ranks=1), 3000),  # a block of every other rank
    ],
)
def test_what_a_rank_must_move_at_least(traffic: Traffic, expected: int) -> None:
    assert traffic.bytes(1000, 4) == expected
