# SPDX-License-Identifier: Apache-2.0
"""Simulates how often rules find a false sure loss, and a true one: a table of
benchmarks/RESULTS.md.

Usage: python benchmarks/rule_power.py [--studies N]

As benchmarks/finding_power.py, but through the rules themselves, with what they make of figures and
ceilings: each study has several cases of each rule, whose true ratio is at the rule's limit, just
below it, or beyond it. Nothing is measured; the seed is fixed.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from nearpeak.arrays import Floats
from nearpeak.findings.evidence import WORTH, View
from nearpeak.findings.find import find_in
from nearpeak.findings.rules import bidirectional, far
from nearpeak.machine.gpu_paths import FAR, NEAR
from nearpeak.machine.machine import unknown
from nearpeak.observations.observed import Block, Observations
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.results import (
    CeilingPoint,
    CeilingValue,
    Cell,
    LiesIn,
)
from nearpeak.terms.benchmarks import Benchmark, Metric, Moves, RankRule, Traffic
from nearpeak.terms.identity import Case, Place, Who
from nearpeak.terms.path import DataPath, Endpoint

BLOCKS = (6, 7, 9, 12)
SCATTER = 0.05  # of each figure and each ceiling in each block
CASES = 3  # of each rule
BELOW = 1.03  # times below the limit, where a mode of one figure moves the median to the limit
MIB = 1 << 20
PAIR, MANY = RankRule("exactly", 2), RankRule("at least", 2)
Shape = Callable[[np.random.Generator, int], Floats]


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("latency", [Metric("latency", "us", "lower")], PAIR, ceiling="measured"),
        Benchmark("bw", [Metric("bw", "GB/s", "higher")], PAIR, symmetric=False),
        Benchmark(
            "bibw", [Metric("bibw", "GB/s", "higher")], PAIR, moves=Moves(ways=2, window=True)
        ),
        Benchmark(
            "put_bw", [Metric("put_bw", "GB/s", "higher")], PAIR, one_sided="put", bound_by="bw"
        ),
        Benchmark("vector", [Metric("vector", "us", "lower")], PAIR, bound_by="latency"),
        Benchmark("bcast", [Metric("bcast", "us", "lower")], MANY, traffic=Traffic(once=1)),
    )
}
HOST_GPU = DataPath(
    id=NEAR,
    summary="",
    transport="memory",
    ends=(
        Endpoint(memory="host", cpus=[0], numa_node=0),
        Endpoint(memory="gpu", cpus=[1], numa_node=0, gpu="GPU"),
    ),
)
OBSERVATIONS = Observations(
    name="",
    started="",
    nearpeak="",
    complete=True,
    machine=unknown(),
    paths=[HOST_GPU],
    libraries=[],
    benchmarks=list(BENCHMARKS.values()),
    curves=[],
    sessions=[],
)


def normal(generator: np.random.Generator, blocks: int) -> Floats:
    """Logarithms, alike on both sides."""
    return np.asarray(generator.normal(0, SCATTER, blocks))


def skewed(generator: np.random.Generator, blocks: int) -> Floats:
    """Exponential, their median at 0."""
    return np.asarray(SCATTER * (generator.exponential(size=blocks) - np.log(2)))


def modes(generator: np.random.Generator, blocks: int) -> Floats:
    """40 % of the blocks half as much again."""
    high = generator.random(blocks) < 0.4
    return np.asarray(0.5 * high + generator.normal(0, 0.01, blocks))


# Of a rule: its limit, the benchmark that loses and the other one, and what is given to `make`.
PAIRS: list[tuple[float, str, Mapping[str, Any], str, Mapping[str, Any]]] = [
    (WORTH, "latency", {"calls": "blocking"}, "latency", {"calls": "persistent"}),
    (WORTH, "vector", {"pack": "direct"}, "vector", {"pack": "kernel"}),
    (WORTH, "put_bw", {}, "bw", {}),
    (
        WORTH,
        "bw",
        {"reuse": "rotating", "ceiling": 1.0},
        "bw",
        {"reuse": "fixed", "ceiling": 1.0},
    ),
    (WORTH, "bw", {"buffers": "M,M"}, "bw", {}),
    (WORTH, "bw", {"buffers": "H,D"}, "bw", {"buffers": "P,D"}),
    (far.LIMIT, "bw", {"place": FAR}, "bw", {"place": NEAR}),
    (bidirectional.LIMIT / 2, "bibw", {"ceiling": 2.0}, "bw", {"ceiling": 1.0}),
]


def make(
    name: str,
    value: float,
    x: int,
    *,
    place: str = "",
    ends: tuple[str, ...] = ("gpu", "gpu"),
    buffers: str = "D,D",
    ceiling: float | None = None,
    lies_in: LiesIn | None = None,
    **axes: str,
) -> Cell:
    """A cell of this value, whose launches come later."""
    metric = BENCHMARKS[name].main
    return Cell(
        who=Who("library"),
        place=Place(path=place, ends=ends),
        case=Case(benchmark=name, metric=name, buffers=buffers, axes=axes, x=x),
        unit=metric.unit,
        better=metric.better,
        window=64 if metric.unit == "GB/s" else 1,
        median=value,
        ci95=None,
        range=None,
        launch_medians=[],
        blocks=[],
        p05=None,
        p95=None,
        minimum=None,
        first_use_us=None,
        launches=0,
        ceiling=None if ceiling is None else CeilingValue(value=ceiling, method=""),
        fraction=None,
        fraction_ci95=None,
        status="ok",
        flags=[],
        command="",
        lies_in=lies_in,
    )


def cells(times: float) -> Iterator[Cell]:
    """Of each rule, figures whose ratio is so many times its limit; those of one case are at a
    place of their own, so that no other rule compares them."""
    for number in range(CASES):
        x = MIB << 2 * number
        for rule, (limit, loses, own, wins, other) in enumerate(PAIRS):
            where: dict[str, Any] = {"place": f"pair {rule} {number}"}
            rate = BENCHMARKS[loses].main.better == "higher"
            value = 1 / times / limit if rate else times * limit
            yield make(loses, value, x, **{**where, **own})
            yield make(wins, 1.0, x, **{**where, **other})
        for size, us in ((8, times * WORTH), (64, 1.0), (512, 8 * times * WORTH)):
            yield make("latency", us, size, place=f"sizes {number}", lies_in="memory")
        for size, us in ((8, 2.0), (64, 2 * times * WORTH), (512, 2.0)):
            yield make("latency", us, size, place=f"dip {number}", ceiling=1.0)
        copied = 10.0 + 2 * 5.0  # on the host, there and back
        size, four = 8 << 2 * number, ("gpu",) * 4
        yield make("bcast", times * WORTH * copied, size, place="gpu x4", ends=four)
        yield make("bcast", 10.0, size, place="host x4", ends=("host",) * 4, buffers="H,H")
        yield make(
            "latency", 5.0, size, place=NEAR, ends=("host", "gpu"), buffers="H,D", ceiling=5.0
        )


def launched(known: list[Cell], shape: Shape, generator: np.random.Generator, blocks: int) -> View:
    """The same with launches in so many blocks, and their ceilings, which have no modes."""
    when = [Block(0, number) for number in range(blocks)]
    seen, points = [], []
    for cell in known:
        values = ((cell.median or 0.0) * np.exp(shape(generator, blocks))).tolist()
        cell = msgspec.structs.replace(cell, launch_medians=values, blocks=when)
        seen.append(cell)
        if cell.ceiling is not None:
            carried = (cell.ceiling.value * np.exp(normal(generator, blocks))).tolist()
            points.append(
                CeilingPoint(
                    place=cell.place,
                    case=cell.case,
                    unit=cell.unit,
                    better=cell.better,
                    value=cell.ceiling.value,
                    ci95=None,
                    range=(min(carried), max(carried)),
                    values=carried,
                    blocks=when,
                    method="",
                    methods={},
                )
            )
    return View(seen, BENCHMARKS, {}, Ceilings(points), OBSERVATIONS, [])


ROWS: dict[str, tuple[Shape, float]] = {
    "none: normal, at the limit": (normal, 1.0),
    "none: skewed, at the limit": (skewed, 1.0),
    "none: 40 % of the launches half as much again, 3 % below the limit": (modes, 1 / BELOW),
    "all, 1.2 times the limit": (normal, 1.2),
    "all, 1.5 times the limit": (normal, 1.5),
}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    rules = len({finding.kind for finding in find_in(_exact())})
    print(f"{rules} rules, {CASES} cases of each; shares of {studies} studies, or of their rules")
    print("| True losses |" + "".join(f" {n} blocks |" for n in BLOCKS))
    print("|---|" + "---|" * len(BLOCKS))
    for name, (shape, times) in ROWS.items():
        shares = []
        for blocks in BLOCKS:
            generator = np.random.default_rng(1)
            known = list(cells(times))
            found = [
                {f.kind for f in find_in(launched(known, shape, generator, blocks)) if f.sure}
                for _ in range(studies)
            ]
            false = np.mean([bool(kinds) for kinds in found])
            true = np.mean([len(kinds) / rules for kinds in found])
            shares.append(false if times <= 1 else true)
        print(f"| {name} |" + "".join(f" {100 * share:.1f} % |" for share in shares), flush=True)


def _exact() -> View:
    """Far beyond all limits, without noise."""
    return launched(list(cells(10.0)), lambda _, n: np.zeros(n), np.random.default_rng(1), 12)


if __name__ == "__main__":
    main()
