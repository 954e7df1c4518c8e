# SPDX-License-Identifier: Apache-2.0
"""How long a million samples take to become results and a report: prints seconds.

Usage: python benchmarks/results_speed.py [FOLDER]

Makes up a study (two libraries, two paths, three benchmarks, 26 sizes, ceilings by two methods;
launch effects of 2 %) in FOLDER, or in a temporary one that is removed again. Nothing in it was
measured: it says so in its id.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from nearpeak.libraries.model import Library, Settings
from nearpeak.machine import model as machine
from nearpeak.report.page import write_page
from nearpeak.results.build import write_results
from nearpeak.study import records
from nearpeak.study.model import SCHEMA, Contender, Plan, PlannedLaunch, Variant

BLOCKS, SAMPLES = 7, 250
SIZES = [1 << power for power in range(26)]
LIBRARIES = {"slow": 1.4, "fast": 1.2}  # times the ceiling's
PATHS = {"host-host same-numa": (0.5, 12.0), "host-host tcp-loopback": (15.0, 3.0)}  # us, GB/s
METHODS = {"ring": 1.0, "single copy": 1.1}
METRICS = ("latency", "bw", "bibw")
WHEN = "2026-01-01T00:00:00Z"
ID = "synthetic, nothing was measured"


def main() -> None:
    """Makes the study, then results and report, and prints how long these took."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        folder.mkdir(exist_ok=True)
        samples = make_study(folder)
        started = time.perf_counter()
        results = write_results(folder)
        built = time.perf_counter()
        page = write_page(results, folder)
        shown = time.perf_counter()
        print(f"{samples} samples, {len(results.cells)} cells, page of {page.stat().st_size} bytes")
        print(f"results {built - started:.2f} s")
        print(f"report  {shown - built:.2f} s")


def make_study(folder: Path) -> int:
    """Writes the folder; the number of samples in it."""
    (folder / "machine.json").write_bytes(msgspec.json.encode(make_machine()))
    planned: list[PlannedLaunch] = []
    total = 0
    with (folder / "records.jsonl").open("wb") as file:
        for record in make_records(planned):
            total += len(record.samples) if isinstance(record, records.SamplesRecord) else 0
            file.write(msgspec.json.encode(record) + b"\n")
    (folder / "plan.json").write_bytes(msgspec.json.encode(make_plan(planned), enc_hook=str))
    return total


def make_records(planned: list[PlannedLaunch]) -> Iterator[records.Record]:
    """All records in order; `planned` receives the launches."""
    generator = np.random.default_rng(1)
    yield records.StudyRecord(schema=records.SCHEMA, id=ID, nearpeak="0.1.0", started=WHEN, seed=1)
    for block, path in itertools.product(range(BLOCKS), PATHS):
        launches = [("", metric) for metric in METRICS[:1]]
        launches += list(itertools.product(LIBRARIES, METRICS))
        for library, benchmark in launches:
            number = len(planned)
            planned.append(
                PlannedLaunch(
                    launch=number,
                    block=block,
                    role="mpi" if library else "ceiling",
                    path=path,
                    contender=list(LIBRARIES).index(library) if library else None,
                    variants=[METRICS.index(benchmark)] if library else [],
                    seed=number,
                )
            )
            yield records.LaunchRecord(
                launch=number,
                block=block,
                role=planned[-1].role,
                library=library,
                settings="default" if library else "",
                path=path,
                benchmarks=[records.Chosen(benchmark=benchmark, axes={})] if library else [],
                axes={},
                command=f"mpirun -n 2 nearpeak-mpi {benchmark} --jsonl {number}.jsonl",
                started=WHEN,
            )
            yield records.EnvironmentRecord(
                launch=number,
                program="synthetic",
                version="0",
                library_version=library or None,
                ranks=[{"rank": rank, "cpus": [rank]} for rank in (0, 1)],
                clock={"tick_ns": 1.0, "read_ns": 20.0},
                env={},
            )
            if library:
                yield from make_cases(generator, number, path, benchmark, library)
            else:
                yield make_case(generator, number, "probe", "copy", 1 << 20, "memcpy", 10.0)
                for metric, method in itertools.product(METRICS, METHODS):
                    yield from make_cases(generator, number, path, metric, method)
            yield records.LaunchEndRecord(
                launch=number, status="ok", exit_status=0, seconds=1.0, message="", log=None
            )
    yield records.StudyEndRecord(status="complete", message="synthetic")


def make_cases(
    generator: np.random.Generator, launch: int, path: str, metric: str, who: str
) -> Iterator[records.SamplesRecord]:
    """One curve over the sizes by Hockney's model, of a library or of a ceiling's method."""
    method = who if who in METHODS else None
    factor = METHODS.get(who) or LIBRARIES[who]
    latency, rate = PATHS[path]
    for size in SIZES:
        micros = (latency + size / rate / 1e3) * factor * generator.lognormal(0, 0.02)
        value = micros if metric == "latency" else size / micros / 1e3
        yield make_case(generator, launch, metric, metric, size, method, value)


def make_case(
    generator: np.random.Generator,
    launch: int,
    benchmark: str,
    metric: str,
    size: int,
    method: str | None,
    value: float,
) -> records.SamplesRecord:
    """One case of one launch whose median is about `value`."""
    axes = {"reuse": "fixed"} if method else {"calls": "blocking", "reuse": "fixed"}
    return records.SamplesRecord(
        launch=launch,
        benchmark=benchmark,
        metric=metric,
        size_bytes=size,
        buffers="H,H",
        axes=axes,
        method=method,
        unit="us" if metric == "latency" else "GB/s",
        better="lower" if metric == "latency" else "higher",
        samples=(value * generator.lognormal(0, 0.02, SAMPLES)).tolist(),
        batch=1,
        kept_every=1,
        iterations=SAMPLES,
        warmup_iterations=10,
        first_use_us=5.0,
        window=64,
        seconds=0.1,
    )


def make_plan(planned: list[PlannedLaunch]) -> Plan:
    """The plan of the launches."""
    ends = [machine.Endpoint(memory="host", cpus=[cpu], numa_node=0) for cpu in (0, 1)]
    return Plan(
        schema=SCHEMA,
        study=ID,
        created=WHEN,
        seed=1,
        sizes=SIZES,
        slot_ms=100,
        window=64,
        in_flight_bytes=64 << 20,
        looks=[6, 9, 12],
        budget_seconds=None,
        launch_limit_seconds=60.0,
        hosts=[],
        remote_shell=None,
        contenders=[
            Contender(
                library=Library(
                    name=name,
                    family="mpich",
                    version="0",
                    version_text="synthetic",
                    abi="mpich",
                    prefix=Path("/nowhere"),
                    origin="given",
                ),
                settings=Settings(),
            )
            for name in LIBRARIES
        ],
        variants=[Variant(benchmark=metric, axes={}) for metric in METRICS],
        paths=[
            machine.Path(id=path, summary=ID, transport="memory", ends=(ends[0], ends[1]))
            for path in PATHS
        ],
        launches=planned,
    )


def make_machine() -> machine.Machine:
    """A machine that nobody has."""
    return machine.Machine(
        hostname="synthetic",
        architecture="none",
        cpu_model="none",
        kernel="none",
        source="sysfs",
        virtual=True,
        cores=[machine.Core(cpus=[cpu], package=0, numa_node=0) for cpu in (0, 1)],
        caches=[],
        numa_nodes=[machine.NumaNode(index=0, cpus=[0, 1], memory_bytes=None, distances={0: 10})],
        nics=[],
        allowed_cpus=[0, 1],
    )


if __name__ == "__main__":
    main()
