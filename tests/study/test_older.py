# SPDX-License-Identifier: Apache-2.0
"""Plans of older schemas say of their benchmarks what plans say today."""

from typing import Any

import msgspec
import pytest

from nearpeak.study.benchmarks import Benchmark, Moves
from nearpeak.study.model import SCHEMA
from nearpeak.study.older import upgraded


def second(better: str, *, symmetric: bool, ceiling: bool) -> dict[str, Any]:
    """A benchmark as plans of schema 2 have it."""
    return {
        "name": "some",
        "metrics": [{"name": "some", "unit": "us", "better": better}],
        "ranks": {"rule": "exactly", "count": 2},
        "symmetric": symmetric,
        "ceiling": ceiling,
    }


@pytest.mark.parametrize(
    ("better", "symmetric", "moves"),
    [
        ("lower", True, Moves(ways=2)),
        ("higher", False, Moves(ways=1, window=True)),
        ("higher", True, Moves(ways=2, window=True)),
    ],
)
def test_a_benchmark_of_schema_2(better: str, symmetric: bool, moves: Moves) -> None:
    for ceiling, model in ((True, "measured"), (False, "none")):
        old = second(better, symmetric=symmetric, ceiling=ceiling)
        new = upgraded({"schema": 2, "paths": [], "benchmarks": [old]})["benchmarks"][0]
        benchmark = msgspec.convert(new, type=Benchmark)
        assert (benchmark.moves, benchmark.ceiling, benchmark.x.name) == (moves, model, "size")


def test_benchmarks_of_schema_1() -> None:
    plan = {"schema": 1, "paths": [], "variants": [{"benchmark": "bw"}, {"benchmark": "latency"}]}
    found = msgspec.convert(upgraded(plan)["benchmarks"], type=list[Benchmark])
    assert [(one.name, one.ceiling, one.moves.window) for one in found] == [
        ("latency", "measured", False),
        ("bw", "measured", True),
    ]


def test_of_all_blocks_spelled_out_one_is_kept() -> None:
    launches = [
        {"launch": number, "block": number // 2, "seed": number, "path": "ab"[number % 2]}
        for number in range(6)
    ]
    plan = upgraded({"schema": 2, "paths": [], "benchmarks": [], "launches": launches})
    assert plan["schema"] == SCHEMA
    assert plan["launches"] == [{"path": "a"}, {"path": "b"}]


def test_what_is_no_older_plan_stays_as_it_is() -> None:
    for value in (None, [], {"schema": SCHEMA, "benchmarks": 7}):
        assert upgraded(value) == value
