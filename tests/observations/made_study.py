# SPDX-License-Identifier: Apache-2.0
"""A study folder made by hand: every number in it is invented, none was measured."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from made_libraries import made_library

from nearpeak.findings.build import build_results
from nearpeak.launching import program_records
from nearpeak.launching.describe import Variant
from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.libraries.library import Contender, Library, Settings
from nearpeak.machine import machine
from nearpeak.planning.plan import SCHEMA, Group, Plan, PlannedLaunch, Spare, Template
from nearpeak.results.results import Cell, Results
from nearpeak.study import records
from nearpeak.study.seal import Seal, file_digests
from nearpeak.study.templates import launch_record
from nearpeak.terms.benchmarks import Benchmark, Metric, Moves, RankRule, Traffic
from nearpeak.terms.path import DataPath, Endpoint

PATH = "host-host same-numa"
UNITS = {
    **dict.fromkeys(("latency", "allreduce", "barrier", "bcast"), ("us", "lower")),
    "mr": ("M/s", "higher"),
    "ibcast": ("ratio", "lower"),
}
PAIR = RankRule("exactly", 2)
BENCHMARKS = [
    Benchmark("latency", [Metric("latency", "us", "lower")], PAIR, ceiling="measured"),
    Benchmark(
        "bw",
        [Metric("bw", "GB/s", "higher")],
        PAIR,
        smallest=1,
        symmetric=False,
        ceiling="measured",
    ),
    Benchmark(
        "bibw",
        [Metric("bibw", "GB/s", "higher")],
        PAIR,
        smallest=1,
        ceiling="measured",
        moves=Moves(ways=2, window=True),
    ),
    Benchmark(
        "mbw_mr",
        [Metric("mbw", "GB/s", "higher"), Metric("mr", "M/s", "higher")],
        RankRule("even", 2),
        smallest=1,
        symmetric=False,
        ceiling="measured",
    ),
    Benchmark("allreduce", [Metric("allreduce", "us", "lower")], RankRule("at least", 2)),
    Benchmark(
        "barrier",
        [Metric("barrier", "us", "lower")],
        RankRule("at least", 2),
        sized=False,
        traffic=Traffic(),
        ceiling="bound",
    ),
    Benchmark(
        "bcast",
        [Metric("bcast", "us", "lower")],
        RankRule("at least", 2),
        smallest=1,
        traffic=Traffic(once=1),
        ceiling="bound",
    ),
    Benchmark(
        "ibcast",
        [Metric("ibcast", "ratio", "lower")],
        RankRule("at least", 2),
        smallest=1,
        bound=1.0,
        ceiling="bound",
    ),
]


def make_machine() -> machine.Machine:
    """Two cores and one memory."""
    return machine.Machine(
        hostname="invented",
        architecture="x86_64",
        cpu_model="Invented CPU",
        kernel="6.0",
        source="sysfs",
        virtual=True,
        cores=[machine.Core(cpus=[i], package=0, numa_node=0) for i in (0, 1)],
        caches=[],
        numa_nodes=[machine.NumaNode(index=0, cpus=[0, 1], memory_bytes=1, distances={0: 10})],
        nics=[],
        allowed_cpus=[0, 1],
    )


def make_library(name: str, family: str = "mpich") -> Library:
    """A library that is nowhere installed; its name may have settings behind an @."""
    name = name.partition("@")[0]
    return made_library(name, family=family, version_text=f"{name} 1.0")


def samples(
    benchmark: str,
    size: int,
    values: Iterable[float],
    *,
    launch: int,
    metric: str | None = None,
    method: str | None = None,
    axes: dict[str, str] | None = None,
    first_use_us: float = 5.0,
    limited: str | None = None,
    window: int = 64,
) -> program_records.SamplesRecord:
    """One case of one launch."""
    values = list(values)
    unit, better = UNITS.get(metric or benchmark, ("GB/s", "higher"))
    return program_records.SamplesRecord(
        launch=launch,
        benchmark=benchmark,
        metric=metric or benchmark,
        size_bytes=size,
        buffers="H,H",
        axes=axes if axes is not None else {"calls": "blocking", "reuse": "fixed"},
        method=method,
        unit=unit,
        better=better,
        samples=values,
        batch=1,
        kept_every=1,
        iterations=len(values),
        warmup_iterations=3,
        first_use_us=first_use_us,
        window=window,
        seconds=0.1,
        limited=limited,
    )


def owner(metric: str) -> str:
    """The benchmark that has a metric; a fact of a path is called as its metric."""
    found = [
        benchmark.name
        for benchmark in BENCHMARKS
        if metric in [each.name for each in benchmark.metrics]
    ]
    return found[0] if found else metric


class Study:
    """Gathers records, then writes the folder and builds its results."""

    samples = staticmethod(samples)

    def __init__(self, folder: Path, libraries: list[str]) -> None:
        self.folder = folder
        self.libraries = libraries
        self.families: dict[str, str] = {}  # of libraries that are not MPICH's
        self.lacks: dict[str, str] = {}  # of libraries that are not as they are shipped
        self.broken: dict[str, list[str]] = {}  # of libraries that are not whole
        self.spare: list[Spare] = []  # what may be left out
        self.sizes: list[int] = []  # else those of the records
        self.planned: list[PlannedLaunch] = []
        self.variants = [
            Variant(benchmark=benchmark, axes={"calls": "blocking", "reuse": "fixed"})
            for benchmark in (
                "latency",
                "bw",
                "bibw",
                "mbw_mr",
                "allreduce",
                "barrier",
                "bcast",
                "ibcast",
            )
        ]
        self.records: list[records.Record] = [
            records.StudyRecord(
                schema=records.SCHEMA, id="invented", nearpeak="0", started="2026-01-01", seed=1
            )
        ]
        self.sessions = 0
        self.session()

    def session(self, host: str = "invented", library: dict[str, str] | None = None) -> None:
        """A run of the study begins."""
        fingerprint = Fingerprint(
            machine={"host": host}, driver={}, library=library or {}, build={}, environment={}
        )
        self.records.append(
            records.SessionRecord(
                session=self.sessions,
                started="2026-01-01",
                nearpeak="0",
                fingerprint=fingerprint,
            )
        )
        self.sessions += 1

    def launch(
        self,
        block: int,
        library: str = "",
        benchmark: str = "bw",
        cases: dict[int, float] | None = None,
        *,
        path: str = PATH,
        number: int | None = None,
        status: str | None = "ok",
        environment: dict[str, Any] | None = None,
        then: tuple[str, ...] = (),
        adapter: str | None = None,
    ) -> int:
        """A launch of a library, or of the ceilings when it has no name; its number.

        `then`: the benchmarks that it was to measure after this one.

        `cases`: the median of each size; an MPI launch without an end has status None.
        """
        place = len(self.planned)
        number = place if number is None else number
        role = "mpi" if library else "ceiling"
        benchmarks = [benchmark, *then] if library else []
        variants = [[v.benchmark for v in self.variants].index(name) for name in benchmarks]
        self.planned.append(
            PlannedLaunch(
                block=block,
                role=role,
                path=path,
                contender=self.libraries.index(library) if library else None,
                groups=(Group(variants=tuple(variants)),),
                adapter=adapter,
                seed=number,
                template=0,
                slot_ms=100,
            )
        )
        command = f"run {library or 'ceiling'} {benchmark} #{place}"
        session = self.sessions - 1
        self.records.append(
            launch_record(self.plan(), self.planned[-1], number, command, "2026-01-01", session)
        )
        self.records.append(
            program_records.EnvironmentRecord(
                launch=number,
                program="invented",
                version="0",
                library_version=make_library(library).version_text if library else None,
                ranks=[{"rank": rank, "cpus": [rank]} for rank in (0, 1)],
                clock={"tick_ns": 1.0, "read_ns": 20.0},
                env=environment or {},
            )
        )
        for size, value in (cases or {}).items():
            spread = [value * factor for factor in (0.98, 1.0, 1.0, 1.0, 1.05)]
            self.records.append(samples(benchmark, size, spread, launch=number))
        if library and status is not None:
            self.end(number, status)
        return number

    def ceiling(
        self,
        block: int,
        cases: dict[tuple[str, str, int], float],
        *,
        path: str = PATH,
        adapter: str | None = None,
    ) -> int:
        """A ceiling launch: the median of each (metric, method, size)."""
        number = self.launch(block, path=path, adapter=adapter)
        for (metric, method, size), value in cases.items():
            self.records.append(
                samples(
                    owner(metric),
                    size,
                    [value] * 5,
                    launch=number,
                    metric=metric,
                    method=method,
                    axes={"reuse": "fixed"},
                )
            )
        self.end(number, "ok")
        return number

    def begins(self, launch: int, benchmark: str, size: int) -> None:
        """A case is about to be measured."""
        self.records.append(
            program_records.CaseRecord(
                launch=launch,
                benchmark=benchmark,
                size_bytes=size,
                buffers="H,H",
                axes={"calls": "blocking", "reuse": "fixed"},
            )
        )

    def problem(
        self,
        launch: int,
        benchmark: str,
        size: int,
        status: str,
        *,
        method: str | None = None,
        at_least: float | None = None,
    ) -> None:
        """A case that gave no believable number."""
        self.records.append(
            program_records.ProblemRecord(
                launch=launch,
                benchmark=benchmark,
                size_bytes=size,
                buffers="H,H",
                axes={"calls": "blocking", "reuse": "fixed"},
                method=method,
                status=status,
                message="invented reason",
                at_least=at_least,
            )
        )

    def end(self, launch: int, status: str, message: str = "", given_up_after: int = 0) -> None:
        """The launch is over."""
        self.records.append(
            records.LaunchEndRecord(
                launch=launch,
                status=status,
                exit_status=0 if status == "ok" else 1,
                seconds=1.0,
                message=message or ("" if status == "ok" else f"invented: {status}"),
                given_up_after=given_up_after,
                log=f"logs/{launch}.txt",
            )
        )

    def recorded_sizes(self) -> list[int]:
        """Those of everything that was, or could not be, measured of a benchmark."""
        metrics = {metric.name for benchmark in BENCHMARKS for metric in benchmark.metrics}
        found = {
            record.size_bytes
            for record in self.records
            if isinstance(record, program_records.ProblemRecord)
            or (isinstance(record, program_records.SamplesRecord) and record.metric in metrics)
        }
        return sorted(found)

    def plan(self) -> Plan:
        """The plan that fits what was launched."""
        contenders = [
            Contender(
                library=msgspec.structs.replace(
                    make_library(name, self.families.get(name, "mpich")),
                    lacks=self.lacks.get(name, ""),
                    broken=self.broken.get(name, []),
                ),
                settings=Settings(name=name.partition("@")[2] or "default"),
            )
            for name in self.libraries
        ]
        ends = tuple(Endpoint(memory="host", cpus=[cpu], numa_node=0) for cpu in (0, 1))
        paths = [
            DataPath(id=name, summary="invented", transport="memory", ends=ends)
            for name in dict.fromkeys([PATH, *(launch.path for launch in self.planned)])
        ]
        return Plan(
            schema=SCHEMA,
            study="invented",
            created="2026-01-01",
            seed=1,
            sizes=self.sizes or self.recorded_sizes() or [8, 1024],
            slot_ms=100,
            window=64,
            in_flight_bytes=1,
            gpu_in_flight_bytes=1,
            looks=[6, 9, 12],
            budget_seconds=None,
            spare=self.spare,
            launch_limit_seconds=60.0,
            hosts=[],
            remote_shell=None,
            contenders=contenders,
            benchmarks=BENCHMARKS,
            variants=self.variants,
            paths=paths,
            launches=self.templates(),
        )

    def templates(self) -> list[Template]:
        """Those of everything that was launched."""
        names = Template.__struct_fields__
        found = [
            Template(**{name: getattr(launch, name) for name in names}) for launch in self.planned
        ]
        return list(dict.fromkeys(found))

    def write(self, *, complete: bool = True) -> Path:
        """The folder, with all that was gathered so far."""
        self.folder.mkdir(exist_ok=True)
        if complete:
            self.records.append(records.StudyEndRecord(status="complete", message=""))
        plan = msgspec.json.encode(self.plan(), enc_hook=str)
        (self.folder / "plan.json").write_bytes(plan)
        (self.folder / "machine.json").write_bytes(msgspec.json.encode(make_machine()))
        self.records[0].files = file_digests(self.folder)  # type: ignore[union-attr]
        seal, lines = Seal(), []
        for record in self.records:
            lines.append(seal.line(record, msgspec.json.encode))
            seal.take(lines[-1])
        (self.folder / "records.jsonl").write_bytes(b"".join(lines))
        return self.folder

    def results(self) -> Results:
        """Written and built."""
        return build_results(self.write())

    def cell(self, benchmark: str = "bw", size: int = 1024, library: str | None = None) -> Cell:
        """One cell of the results."""
        return self.find(self.results(), benchmark, size, library or self.libraries[0])

    @staticmethod
    def find(results: Results, benchmark: str, size: int, library: str) -> Cell:
        """The only cell with these."""
        (cell,) = [
            cell
            for cell in results.cells
            if (cell.case.benchmark, cell.case.x, cell.who.library) == (benchmark, size, library)
        ]
        return cell
