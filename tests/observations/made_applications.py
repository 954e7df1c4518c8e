# SPDX-License-Identifier: Apache-2.0
"""Observations of an application, made by hand: every number in it is invented."""

from typing import Any

import numpy as np

from nearpeak.libraries.library import Settings
from nearpeak.machine import machine
from nearpeak.observations.observed import (
    Block,
    Launch,
    Library,
    Observation,
    Observations,
    Session,
    Summary,
)
from nearpeak.results.build import summarise
from nearpeak.results.results import Results
from nearpeak.terms.benchmarks import Axis, Benchmark, Metric, Moves, RankRule, X
from nearpeak.terms.identity import CEILING, Curve, Who
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.terms.work import Work

ALPHA = Who("alpha")
BLOCKS = 6
AXES = {"scaling": "weak", "overlap": "no", "mode": "sync"}
BENCHMARKS = [
    Benchmark(
        "latency", [Metric("latency", "us", "lower")], RankRule("exactly", 2), ceiling="measured"
    ),
    Benchmark(
        "bw",
        [Metric("bw", "GB/s", "higher")],
        RankRule("exactly", 2),
        symmetric=False,
        ceiling="measured",
        moves=Moves(window=True),
    ),
    Benchmark(
        "bibw",
        [Metric("bibw", "GB/s", "higher")],
        RankRule("exactly", 2),
        ceiling="measured",
        moves=Moves(ways=2, window=True),
    ),
    Benchmark(
        "plane",
        [Metric("plane", "us", "lower"), Metric("plane_rate", "GLUP/s", "higher")],
        RankRule("at least", 1),
        axes=[
            Axis("scaling", ["weak", "strong"], "weak"),
            Axis("overlap", ["no", "yes"], "no"),
            Axis("mode", ["sync", "async", "nocomm", "nocomp"], "sync"),
        ],
        x=X("side", "cells", [64]),
        summary="invented",
    ),
]


def end(cpu: int, gpu: str | None = None) -> Endpoint:
    return Endpoint(memory="gpu" if gpu else "host", cpus=[cpu], numa_node=0, gpu=gpu)


def path(name: str, ranks: int, transport: str = "memory", gpu: str | None = None) -> DataPath:
    """`gpu`: of all ranks; empty: one of each."""
    ends = tuple(end(cpu, f"GPU-{cpu}" if gpu == "" else gpu) for cpu in range(ranks))
    return DataPath(id=name, summary=name, transport=transport, ends=ends)


ONE, TWO = path("host x1", 1), path("host-host same-numa", 2)
MEMORY = path("host-memory node0", 2, "local")
GPU, SAME_GPU = path("gpu x1", 1, gpu="GPU-0"), path("gpu-gpu same-gpu", 2, gpu="GPU-0")


class Made:
    """Gathers observations of one library."""

    def __init__(self, cache_bytes: int = 1 << 20, vendor: str = "nvidia") -> None:
        self._launches: list[Launch] = []
        self._observed: list[Observation] = []
        self._curves: dict[Curve, None] = {}
        self._cache_bytes = cache_bytes
        self._vendor = vendor
        self.paths = [TWO, ONE, MEMORY, GPU, SAME_GPU]

    def add(
        self,
        where: DataPath,
        benchmark: str,
        metric: str,
        values: float | list[float],
        x: int,
        who: Who = ALPHA,
        axes: dict[str, str] | None = None,
        method: str = "nt x2",
        **more: Any,
    ) -> None:
        """One observation in each block; `method`: of a ceiling."""
        unit = {known.name: known for each in BENCHMARKS for known in each.metrics}.get(
            metric, Metric(metric, "GB/s", "higher")
        )
        curve = Curve(benchmark=benchmark, metric=metric, buffers="H,H", axes=axes or {})
        if who != CEILING:
            self._curves[curve] = None
        each = values if isinstance(values, list) else [values] * BLOCKS
        for number, value in enumerate(each):
            launch = Launch(
                number=len(self._launches),
                block=Block(0, number),
                who=who,
                place=where.place,
                curves=(curve,),
                status="ok",
                command="run",
                tick_ns=1.0,
                slot_ms=20.0,
            )
            self._launches.append(launch)
            samples = np.array([value] * 5)
            self._observed.append(
                Observation(
                    launch=launch,
                    case=curve.at(x),
                    unit=unit.unit,
                    better=unit.better,
                    summary=Summary.from_samples(samples),
                    samples=samples,
                    origin="invented",
                    window=1,
                    method="" if who != CEILING else method,
                    **more,
                )
            )

    def plane(
        self,
        where: DataPath,
        us: float | list[float],
        work: Work | None = None,
        parts: dict[str, float] | None = None,
        **axes: str,
    ) -> None:
        """An application of 1000 x 1000 doubles on each rank."""
        usual = Work(copied_bytes=8_000_000, messages=[8000] * (len(where.ends) - 1))
        self.add(
            where,
            "plane",
            "plane",
            us,
            1000,
            axes={**AXES, **axes},
            phases=parts or {"compute": 800.0, "communicate": 200.0},
            shortest_phases=parts or {"compute": 700.0, "communicate": 30.0},
            mean_phases=parts or {"compute": 750.0, "communicate": 100.0},
            work=work or usual,
        )

    def results(self) -> Results:
        """What follows."""
        return summarise(
            Observations(
                name="invented",
                started="2026-01-01",
                nearpeak="0",
                complete=True,
                machine=machine.Machine(
                    hostname="invented",
                    architecture="x86_64",
                    cpu_model="Invented CPU",
                    kernel="6.0",
                    source="sysfs",
                    virtual=True,
                    cores=[machine.Core(cpus=[cpu], package=0, numa_node=0) for cpu in (0, 1)],
                    caches=[
                        machine.Cache(
                            level=3, kind="unified", size_bytes=self._cache_bytes, cpus=[0, 1]
                        )
                    ],
                    numa_nodes=[
                        machine.NumaNode(index=0, cpus=[0, 1], memory_bytes=1, distances={0: 10})
                    ],
                    nics=[],
                    allowed_cpus=[0, 1],
                    gpus=[
                        machine.Gpu(
                            index=0,
                            vendor=self._vendor,
                            name="Invented GPU",
                            uuid="GPU-0",
                            pci="0000:01:00.0",
                            numa_node=0,
                            memory_bytes=1 << 36,
                            memory_gbs=None,
                            host_link="pcie",
                            host_gbs=None,
                        )
                    ],
                ),
                paths=self.paths,
                libraries=[
                    Library(who, "mpich", "1", who.label, {}, Settings(name=who.settings), False)
                    for who in sorted({launch.who for launch in self._launches} - {CEILING})
                ],
                benchmarks=BENCHMARKS,
                curves=list(self._curves),
                awareness=[],
                left_out=[],
                sessions=[Session(0, "2026-01-01", "0", False, {})],
                launches=self._launches,
                observed=self._observed,
            )
        )
