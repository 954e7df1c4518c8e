# SPDX-License-Identifier: Apache-2.0
"""How large results.json, the page and the CSV are of collective operations on 128 ranks.

Usage: python benchmarks/results_size.py

Three libraries, 20 operations of 21 sizes with 3 ways to reuse buffers, 12 blocks; the times are
drawn with a fixed seed, and nothing is measured.
"""

from pathlib import Path

import numpy as np

from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Machine
from nearpeak.observations.observed import (
    Block,
    Launch,
    Library,
    Observation,
    Observations,
    Session,
    Summary,
)
from nearpeak.observations.sources.study import load
from nearpeak.report.export import to_csv
from nearpeak.report.page import render
from nearpeak.results.build import summarise, to_json
from nearpeak.terms.benchmarks import Axis, Benchmark, Metric, RankRule
from nearpeak.terms.identity import Axes, Curve, Who
from nearpeak.terms.path import DataPath, Endpoint

RANKS, BLOCKS, OPERATIONS = 128, 12, 20
SIZES = [1 << power for power in range(21)]
REUSES = ["fixed", "single", "rotating"]
LIBRARIES = ["one", "two", "three"]
EXAMPLE = Path(__file__).parents[1] / "examples" / "h200x2-shipped"
# As launchers/ writes it: the program once, and a CPU for each rank.
COMMAND = f"mpirun -n {RANKS} sh -c 'for cpus in {' '.join(map(str, range(RANKS)))}; do ...' sh "
COMMAND += "/home/somebody/.cache/nearpeak/build/0123456789abcdef/nearpeak-mpi --sizes 1:1M "


def observations(machine: Machine) -> Observations:
    """Of every case in every block."""
    benchmarks = [
        Benchmark(
            name=f"operation{number}",
            metrics=[Metric(name=f"operation{number}", unit="us", better="lower")],
            ranks=RankRule(rule="at least", count=2),
            axes=[Axis(name="reuse", values=REUSES, default="fixed", summary="")],
            family="collective",
        )
        for number in range(OPERATIONS)
    ]
    ends = tuple(Endpoint(memory="host", cpus=[rank], numa_node=0) for rank in range(RANKS))
    path = DataPath(id=f"host x{RANKS}", summary=f"{RANKS} ranks", transport="memory", ends=ends)
    found = Observations(
        name="simulated",
        started="2026-01-01T00:00:00Z",
        nearpeak="0",
        complete=True,
        ended="simulated",
        machine=machine,
        paths=[path],
        libraries=[
            Library(Who(name), "mpich", "1", name, {}, Settings(), native=False)
            for name in LIBRARIES
        ],
        benchmarks=benchmarks,
        curves=[
            Curve(
                benchmark=benchmark.name, metric=benchmark.name, buffers="H", axes=Axes(reuse=reuse)
            )
            for benchmark in benchmarks
            for reuse in REUSES
        ],
        awareness=[],
        left_out=[],
        sessions=[Session(0, "2026-01-01T00:00:00Z", "0", False, {})],
    )
    generator = np.random.default_rng(1)
    conditions = {f"rank {rank} cpus": f"[{rank}]" for rank in range(RANKS)}
    for block in range(BLOCKS):
        for owner, name in enumerate(LIBRARIES):
            for curve in found.curves:
                launch = Launch(
                    number=len(found.launches),
                    block=Block(0, block),
                    who=Who(name),
                    place=path.place,
                    curves=(curve,),
                    status="ok",
                    message="",
                    command=f"{COMMAND}{curve.benchmark} --reuse {curve.axes['reuse']}",
                    log=None,
                    conditions=conditions,
                    tick_ns=1.0,
                    slot_ms=100.0,
                )
                found.launches.append(launch)
                for size in SIZES:
                    time = (20 + size / 5e3) * (1 + owner / 10) * generator.lognormal(0, 0.05)
                    found.observed.append(
                        Observation(
                            launch=launch,
                            case=curve.at(size),
                            unit="us",
                            better="lower",
                            summary=Summary(time, 0.9 * time, 100, 0),
                            samples=None,
                            origin="simulated",
                            window=1,
                            first_use_us=None,
                            limited=None,
                        )
                    )
    return found


def main() -> None:
    """Prints the sizes."""
    results = summarise(observations(load(EXAMPLE).machine))
    print(f"{len(results.cells)} cells, {len(results.comparisons)} comparisons")
    for name, text in (
        ("results.json", to_json(results)),
        ("CSV", to_csv(results)),
        ("report.html", render(results)),
    ):
        print(f"{name}: {len(text.encode()) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
