# SPDX-License-Identifier: Apache-2.0
"""What a library is tuned for."""

import math
import re

import pytest

from nearpeak.errors import UserError
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule, X
from nearpeak.tune.targets import Target, by_benchmark, cost, parse_targets, resolved


def benchmark(name: str, smallest: int = 0, x: X | None = None) -> Benchmark:
    metrics = [Metric(name, "us", "lower")]
    ranks = RankRule("exactly", 2)
    return Benchmark(name, metrics, ranks, smallest=smallest, x=x or X())


BENCHMARKS = {
    "latency": benchmark("latency"),
    "bw": benchmark("bw", smallest=1),
    "jacobi2d": benchmark("jacobi2d", x=X("side", "cells", [1024, 4096])),
    "halo": benchmark("halo", x=X("side", "cells", [])),
}


def test_targets_are_benchmarks_at_sizes() -> None:
    wanted = parse_targets("latency:16M, bw:64K,latency:8,bw:64K")
    found = resolved(wanted, BENCHMARKS)
    assert found == [Target("latency", 16 << 20), Target("bw", 64 << 10), Target("latency", 8)]
    assert [target.label for target in found] == ["latency:16M", "bw:64K", "latency:8"]
    assert by_benchmark(found) == {"latency": [8, 16 << 20], "bw": [64 << 10]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":8", "--for :8: write BENCHMARK:SIZE"),
        ("latency:x", "--for latency:x: 'x' is "),
        (" , ", "--for ' , ': write BENCHMARK:SIZE, like latency:8 or bw:16M"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        parse_targets(text)


def test_an_application_is_a_target_at_its_own_sizes_or_at_those_named() -> None:
    found = resolved(parse_targets("jacobi2d"), BENCHMARKS)
    assert found == [Target("jacobi2d", side, "cells") for side in (1024, 4096)]
    assert [target.label for target in found] == ["jacobi2d:1K", "jacobi2d:4K"]
    assert not any(target.of_messages for target in found)
    both = resolved(parse_targets("jacobi2d:4K,jacobi2d,latency:8"), BENCHMARKS)
    assert [target.label for target in both] == ["jacobi2d:4K", "jacobi2d:1K", "latency:8"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency", "--for latency: write BENCHMARK:SIZE, like latency:8 or bw:16M, or an"),
        ("bw:0", "--for bw: it has no such size"),
        ("halo", "--for halo: it has no such size"),
    ],
)
def test_sizes_that_there_are_not_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        resolved(parse_targets(text), BENCHMARKS)


def test_less_cost_is_better() -> None:
    assert cost(2.0, "lower") - cost(1.0, "lower") == pytest.approx(math.log(2))
    assert cost(1.0, "higher") - cost(2.0, "higher") == pytest.approx(math.log(2))
