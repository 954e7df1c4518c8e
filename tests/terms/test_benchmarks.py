# SPDX-License-Identifier: Apache-2.0
"""What follows from what a benchmark says of itself."""

from typing import Any

import pytest

from nearpeak.terms.benchmarks import (
    Basis,
    Benchmark,
    Metric,
    Moves,
    RankRule,
    Traffic,
)


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


def test_the_data_of_an_operation_is_all_blocks_where_each_rank_has_one() -> None:
    assert Traffic(once=2, by_ranks=-2).algorithm_bytes(1000, 4) == 1000
    assert Traffic(once=-1, times_ranks=1).algorithm_bytes(1000, 4) == 4000
    assert Traffic(once=1).moves_data
    assert not Traffic().moves_data


def test_what_one_rank_receives_where_a_ceiling_is_so() -> None:
    def received(unit: str, ranks: int, ways: int = 1) -> float:
        metric = Metric("x", unit, "higher")
        rule = RankRule("exactly", 2)
        benchmark = Benchmark("x", [metric], rule, moves=Moves(ways=ways), ceiling="measured")
        return benchmark.received_gbs(metric, 8.0, 4000, ranks)

    assert received("GB/s", 2) == 8.0
    assert received("GB/s", 2, ways=2) == 4.0  # of a rate both ways one
    assert received("GB/s", 4) == 4.0  # of two pairs one
    assert received("us", 2) == 0.5  # 4000 B in 8 us
    assert received("M/s", 2) == 0.0


@pytest.mark.parametrize(
    ("benchmark", "memories", "expected"),
    [
        ({"traffic": Traffic(once=1)}, "host host", Basis(message=True, receives=Traffic(once=1))),
        ({"traffic": Traffic(once=1)}, "host gpu", Basis(receives=Traffic(once=1))),
        ({"traffic": Traffic()}, "host host", Basis(message=True)),
        ({"traffic": Traffic()}, "gpu gpu", Basis()),  # it leaves their memory alone
        ({"bound_by": "bw"}, "gpu gpu", Basis(same="bw")),
        ({"bound": 1.0}, "host host", Basis()),
        ({"traffic": Traffic(once=1), "ceiling": "none"}, "host host", Basis()),
    ],
)
def test_what_a_bound_follows_from(
    benchmark: dict[str, Any], memories: str, expected: Basis
) -> None:
    rule = RankRule("at least", 2)
    described = Benchmark(
        "x", [Metric("x", "us", "lower")], rule, **{"ceiling": "bound", **benchmark}
    )
    assert described.basis(memories.split()) == expected
