# SPDX-License-Identifier: Apache-2.0
"""What a tuning launches and tries."""

from types import SimpleNamespace
from typing import Any

import pytest

from nearpeak.libraries.tunables import Offered, Ruled, Tunable
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.tune.prepare import _kinds, _operations
from nearpeak.tune.targets import Target


def test_operations_with_several_algorithms_are_those_of_the_targets() -> None:
    def algorithms(benchmark: str, *values: str) -> Offered:
        ruled = Ruled(operation=7)
        name = benchmark.upper()
        more: Any = {"values": list(values), "benchmarks": [benchmark], "ruled": ruled}
        tunable = Tunable(name=name, component="x", summary="", source="x", **more)
        return Offered(tunable, True, "", {value: n for n, value in enumerate(values)})

    def single(least: int) -> Any:
        benchmark = SimpleNamespace(sizes=lambda sizes: [each for each in sizes if each >= least])
        return SimpleNamespace(benchmark=benchmark, path=SimpleNamespace(ends=("host",) * 4))

    there = [algorithms("bcast", "a", "b"), algorithms("scan", "a"), algorithms("reduce", "a", "b")]
    targets = [Target("bcast", 65536), Target("latency", 8), Target("bcast", 512)]
    targets.append(Target("scan", 8))
    subjects = {"bcast": single(4096), "latency": single(1), "scan": single(1)}
    (found,) = _operations(there, subjects, targets)
    assert (found.name, found.ranks, found.targets) == ("bcast", 4, (512, 65536))
    assert found.sizes == (512, 4096, 65536, 1 << 20)
    assert [way.words for way in found.ways] == ["a", "b"]


@pytest.mark.parametrize(
    ("asked", "symmetric", "kinds"),
    [
        ("H,D", True, []),
        ("D,H", False, []),
        ("D,H", True, ["D,H", "H,D", "D,D"]),  # latency is measured by itself with H,D alone
        ("P,D", True, ["P,D", "H,D", "D,H", "D,D"]),
    ],
)
def test_the_study_measures_the_buffers_that_are_asked_for(
    asked: str, symmetric: bool, kinds: list[str]
) -> None:
    def path(*memories: Any) -> DataPath:
        ends = [Endpoint(cpus=[0], numa_node=0, memory=memory) for memory in memories]
        return DataPath(id="", summary="", transport="memory", ends=ends)

    target = Benchmark(
        "b", [Metric("b", "us", "lower")], RankRule("exactly", 2), symmetric=symmetric
    )
    paths = [path("host", "gpu"), path("gpu", "gpu")]
    assert _kinds(paths, [target], asked) == kinds
