# Every figure in this file is written by hand (or by a formula written by hand): none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Results for the report's tests, with every awkward thing that a study can hold."""

import functools
import math
from collections.abc import Callable

import msgspec
import pytest

from nearpeak.findings.advice import advise
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Cache, Core, Machine, Nic, NumaNode
from nearpeak.observations.observed import Block
from nearpeak.results import bandwidths, failures, furthest, headlines, pairs, peaks, precision
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import of_plateau
from nearpeak.results.results import (
    SCHEMA,
    Alternative,
    CeilingPoint,
    CeilingValue,
    Cell,
    Check,
    Comparison,
    Cost,
    CurveComparison,
    Drift,
    Evidence,
    Failure,
    Finding,
    Fit,
    LibraryInfo,
    Remedy,
    Results,
    Rule,
    SessionInfo,
)
from nearpeak.results.theoretical import compare
from nearpeak.terms.awareness import Awareness, unaware
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule, Traffic
from nearpeak.terms.identity import CEILING, Case, Place, Who
from nearpeak.terms.path import DataPath, Endpoint

NASTY = "<script>alert(1)</script>"
QUOTES = 'it\'s "quoted" & 50% {{ 7 * 7 }} ünï\u2028code </script> \\end{x} $&_#^~'
LONG = "a-very-long-name-" * 12
SIZES = [0, *(1 << power for power in range(0, 27, 2)), 3000]
PATHS = [
    "host-host same-numa",
    "host-host tcp-loopback",
    f"host-host {NASTY}",
    "host-memory node0",
]
_UNITS = {"latency": "us", "bw": "GB/s", "bibw": "GB/s", "copy": "GB/s", "triad": "GB/s"}


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
    Benchmark("bibw", [Metric("bibw", "GB/s", "higher")], PAIR, smallest=1, ceiling="measured"),
]


def curve(metric: str, size: int, peak_gbs: float, latency_us: float) -> float:
    """Hockney's model with a cache-like bump, by hand: only has to look like a measurement."""
    micros = latency_us + size / (peak_gbs * 1e3)
    bump = 1 + 0.25 * math.exp(-((math.log2(size + 1) - 17) ** 2) / 8)
    return micros if metric == "latency" else size / micros / 1e3 * bump


def make_machine() -> Machine:
    """A small machine of one NUMA node whose name wants to be markup."""
    return Machine(
        hostname="node<1>&co",
        architecture="x86_64",
        cpu_model="Made-up CPU @ 2.50GHz",
        kernel="6.1.0",
        source="sysfs",
        virtual=True,
        cores=[Core(cpus=[0, 2], package=0, numa_node=0), Core(cpus=[1], package=0, numa_node=0)],
        caches=[Cache(level=2, kind="unified", size_bytes=1 << 20, cpus=[0, 2])],
        numa_nodes=[NumaNode(index=0, cpus=[0, 1, 2], memory_bytes=24 << 30, distances={0: 10})],
        nics=[
            Nic(name="eth0", kind="ethernet", numa_node=None, rate_gbs=1.25, addresses=["10.0.0.2"])
        ],
        allowed_cpus=[0, 1, 2],
    )


def make_path(name: str) -> DataPath:
    """A path between CPUs 0 and 1; memory paths are local ones."""
    end = Endpoint(memory="host", cpus=[0], numa_node=0)
    other = Endpoint(memory="host", cpus=[1], numa_node=0)
    local = name.startswith("host-memory")
    return DataPath(
        id=name,
        summary=f"made up: {name}",
        transport="local" if local else "network" if "tcp" in name else "memory",
        ends=(end, end if local else other),
        theoretical_gbs=25.0 if "same" in name else None,
    )


def make_place(name: str) -> Place:
    """Of one of the paths above."""
    return make_path(name).place


def make_case(
    benchmark: str, size: int, axes: dict[str, str] | None = None, buffers: str = "H,H"
) -> Case:
    """A case of a benchmark whose metric is called as it is."""
    return Case(
        benchmark=benchmark,
        metric=benchmark,
        buffers=buffers,
        axes=axes or {"calls": "blocking", "reuse": "fixed"},
        x=size,
    )


def make_cell(
    who: Who,
    place: Place,
    case: Case,
    *,
    launches: int = 6,
    efficiency: float = 0.8,
    ceiling: CeilingPoint | None = None,
) -> Cell:
    """A cell that reaches `efficiency` of its ceiling; a bandwidth of 0 bytes is 0 GB/s."""
    better = "lower" if case.benchmark == "latency" else "higher"
    base = ceiling.value if ceiling else curve(case.benchmark, case.x, 12.0, 0.3)
    median = base / efficiency if better == "lower" else base * efficiency
    spread = (median * 0.97, median * 1.02)
    fraction = efficiency if ceiling and base else None
    fraction_spread = (fraction * 0.97, fraction * 1.02) if fraction else None
    return Cell(
        who=who,
        place=place,
        case=case,
        unit=_UNITS[case.benchmark],
        better=better,
        window=64,
        median=median,
        ci95=spread if launches >= 6 else None,
        range=spread,
        launch_medians=[median] * launches,
        blocks=[Block(0, number) for number in range(launches)],
        p05=median * 0.9,
        p95=median * 1.3,
        minimum=median * 0.88,
        first_use_us=12.0,
        launches=launches,
        ceiling=CeilingValue(value=ceiling.value, method=ceiling.method) if ceiling else None,
        fraction=fraction,
        fraction_ci95=fraction_spread if launches >= 6 else None,
        fraction_range=fraction_spread,
        fraction_blocks=launches if fraction else 0,
        status="no ceiling" if ceiling is None else "above ceiling" if efficiency > 1.03 else "ok",
        flags=[] if launches >= 6 else ["few launches"],
        command=f"mpirun -n 2 nearpeak-mpi {case.benchmark} --note '{QUOTES}'",
    )


def make_ceiling(place: Place, case: Case, launches: int = 6) -> CeilingPoint:
    """A ceiling point: TCP is slower; small messages go by another method."""
    tcp = place.transport == "network"
    peak, latency = (4.0, 12.0) if tcp else (14.0, 0.2)
    factor = 1.4 if case.metric == "bibw" else 1.0
    value = curve(case.metric, case.x, peak * factor, latency)
    method = "tcp stream" if tcp else "ring copy" if case.x < 1 << 16 else "single copy"
    return CeilingPoint(
        place=place,
        case=case,
        unit=_UNITS[case.metric],
        better="lower" if case.metric == "latency" else "higher",
        value=value,
        ci95=(value * 0.98, value * 1.01) if launches >= 6 else None,
        range=(value * 0.97, value * 1.03),
        values=[value] * launches,
        blocks=[Block(0, number) for number in range(launches)],
        method=method,
        methods={method: value},
    )


def make_session(number: int, driver: str, forced: bool = False) -> SessionInfo:
    """A session with a driver of this version."""
    return SessionInfo(
        session=number,
        started=f"2026-01-0{number + 2}T03:04:05Z",
        nearpeak="0.1.0",
        forced=forced,
        fingerprint={"machine": {"cpu": "Made-up CPU"}, "driver": {"nvidia": driver}},
    )


def make_finding(cell: Cell) -> Finding:
    """Something that stands out in a cell."""
    span = (1.9, 2.4)
    return Finding(
        kind="mps",
        sure=True,
        who=cell.who,
        place=cell.place,
        case=cell.case,
        alternative=Alternative(who=cell.who, place=cell.place, case=cell.case),
        evidence=[
            Evidence(of="own", value=2.1, unit="us", ci95=span, range=span),
            Evidence(of="alternative", value=1.0, unit="us", ci95=(1.0, 1.0), range=(1.0, 1.0)),
        ],
        cost=Cost(
            ratio=2.1, ci95=span, range=span, blocks=6, lost_us=12.34, share=1 - 1 / 2.1, cases=5
        ),
        remedy=Remedy(text="Do it the other way."),
        check=[Check(of="own", command="by hand"), Check(of="alternative", command="by hand")],
    )


def tell_anew(results: Results) -> None:
    """What results say first, made from their cells, ceilings and verdicts as they are now."""
    ceilings = Ceilings(results.ceilings)
    for cell in results.cells:
        plateau = ceilings.plateau(cell.place, cell.case.curve, cell.better)
        held = of_plateau(cell, ceilings.point(cell.place, cell.case), plateau)
        cell.of_plateau = held if cell.median and cell.case.x else None
    native = {
        Who(info.name, given.name)
        for info in results.libraries
        if info.native
        for given in info.settings
    }
    results.headlines = headlines.find(results.cells, results.comparisons, native, ceilings)
    results.peaks = peaks.find(results)
    results.pairs = pairs.find(results)
    results.furthest = furthest.find(results)
    results.precision = precision.find(results.cells)
    results.advice = advise(results)
    results.unaware = unaware(results.awareness)


@functools.cache
def _encoded(make: Callable[[], Results]) -> bytes:
    return msgspec.msgpack.encode(make())


def made_once(make: Callable[[], Results]) -> Results:
    """What `make` makes: a copy for each test, as many change it."""
    return msgspec.msgpack.decode(_encoded(make), type=Results)


def in_session(point: CeilingPoint, session: int) -> None:
    """The last of its launches was."""
    point.blocks[-1] = point.blocks[-1]._replace(session=session)


def make_results() -> Results:
    """Three libraries with two settings on four paths, and all that can go wrong."""
    libraries = {"openmpi": 0.85, "mpich": 0.7, NASTY: 0.5}
    tuned = Settings(name=QUOTES, env={"MADE_UP": "1"})
    places = [make_place(name) for name in PATHS]
    mpi_places = places[:3]
    ceilings = [
        make_ceiling(place, make_case(metric, size, {"reuse": "fixed"}))
        for place in mpi_places
        for metric in ("latency", "bw", "bibw")
        for size in SIZES
        if (size or metric == "latency") and place != places[2]  # that one has no ceiling
    ]
    held = {(point.place, point.case.metric, point.case.x): point for point in ceilings}
    ceilings += [
        make_ceiling(places[3], make_case(metric, size, {"reuse": "fixed"}))
        for metric in ("copy", "triad")
        for size in SIZES[6:]
    ]
    in_session(ceilings[-1], 1)
    cells = []
    for axes in (
        {"calls": "blocking", "reuse": "fixed"},
        {"calls": "nonblocking", "reuse": "fixed"},
    ):
        for number, (library, efficiency) in enumerate(libraries.items()):
            for settings in ("default", QUOTES):
                for place in mpi_places:
                    for benchmark in ("latency", "bw", "bibw"):
                        for size in SIZES:
                            dip = 0.55 if size in (16384, 65536) else 1.0
                            gain = 1.04 if settings != "default" else 1.0
                            cells.append(
                                make_cell(
                                    Who(library, settings),
                                    place,
                                    make_case(benchmark, size, axes),
                                    launches=3 if place == places[1] and number == 1 else 6,
                                    efficiency=efficiency * dip * gain,
                                    ceiling=held.get((place, benchmark, size)),
                                )
                            )
    case = make_case("bw", 1 << 12)
    above = make_cell(
        Who("openmpi"), places[0], case, efficiency=1.2, ceiling=held[places[0], "bw", 1 << 12]
    )
    wanted = (above.who, above.place, above.case)
    cells = [above if (cell.who, cell.place, cell.case) == wanted else cell for cell in cells]
    for cell in cells[-3:]:  # crashed before anything was measured
        cell.median = cell.ci95 = cell.range = cell.fraction = cell.fraction_ci95 = None
        cell.p05 = cell.p95 = cell.minimum = cell.first_use_us = cell.fraction_range = None
        cell.launches, cell.launch_medians, cell.blocks, cell.status = 0, [], [], "crashed"
        cell.fraction_blocks = 0
    made = Results(
        schema=SCHEMA,
        nearpeak="0.1.0",
        study="2026-01-02T03-04-05",
        started="2026-01-02T03:04:05Z",
        complete=False,
        ended="ended by SIGINT",
        sessions=[make_session(0, "550.1"), make_session(1, "560.2", forced=True)],
        machine=make_machine(),
        libraries=[
            LibraryInfo(
                name=name,
                family="openmpi",
                version="5.0.7",
                version_text=f"{name} version text\nsecond line & <b>bold</b>",
                settings=[Settings(), tuned],
            )
            for name in libraries
        ],
        paths=[make_path(name) for name in PATHS],
        benchmarks=BENCHMARKS,
        cells=cells,
        ceilings=ceilings,
        fits=[
            Fit(
                who=Who(library) if library else CEILING,
                place=place,
                curve=make_case("latency", 0, None if library else {"reuse": "fixed"}).curve,
                latency_us=0.31,
                asymptotic_gbs=11.5,
                half_peak_bytes=3565.0,
                smallest_bytes=8,
                largest_bytes=1 << 20,
                median_error=0.04,
                worst_error=0.34,
            )
            for place in mpi_places
            for library in ("", *libraries)
        ],
        comparisons=[
            Comparison(
                first=Who("openmpi"),
                second=Who("mpich"),
                place=place,
                case=make_case(benchmark, size),
                ratio=0.82 if size else 1.0,
                ci95=(0.8, 0.84) if index % 5 else None,
                blocks=6,
                p_value=0.01,
                p_adjusted=0.04,
                verdict=["slower", "faster", "equivalent", "undecided"][index % 4],
            )
            for place in mpi_places
            for benchmark in ("latency", "bw", "bibw")
            for index, size in enumerate(SIZES)
        ],
        curves=[
            CurveComparison(
                first=Who("openmpi"),
                second=Who("mpich"),
                place=place,
                curve=make_case(benchmark, 0).curve,
                ratio=0.82,
                ci95=(0.8, 0.84),
                p_value=0.001,
                p_adjusted=0.0123,
                verdict="slower",
                counts=dict.fromkeys(("slower", "faster", "equivalent", "undecided"), 4),
            )
            for place in mpi_places
            for benchmark in ("latency", "bw", "bibw")
        ],
        failures=[
            Failure(
                launch=17,
                session=0,
                who=Who(NASTY),
                place=places[2],
                benchmarks=["bibw", "latency"],
                status="crashed",
                message=f"signal 11 after {NASTY}",
                command=f"mpirun -n 2 nearpeak-mpi bibw '{QUOTES}'",
                log="logs/17.txt",
            ),
            Failure(
                launch=18,
                session=0,
                who=CEILING,
                place=places[3],
                benchmarks=[],
                status="hung",
                message="ended after 60 s",
                command="nearpeak-native memory --cpus 0",
                log=None,
            ),
        ],
        drift=[
            Drift(
                place=places[0],
                blocks=[Block(0, number) for number in range(6)],
                deviations=[0.001, 0.0, -0.002, -0.27, -0.28, -0.29],
                changed=[Block(0, number) for number in (3, 4, 5)],
                step=-0.28,
            ),
            Drift(
                place=places[1],
                blocks=[Block(0, number) for number in range(6)],
                deviations=[0.0, 0.01, -0.01, 0.0, 0.02, 0.0],
            ),
            Drift(place=places[3], blocks=[Block(0, 0), Block(0, 1)], deviations=[-0.1, 0.1]),
        ],
        checklist=[
            Rule(
                number=index + 1,
                rule=f"Rule {index + 1} in words",
                state=["met", "not met", "not applicable"][index % 3],
                how="by hand",
            )
            for index in range(12)
        ],
    )
    made.failure_kinds = failures.kinds(made.failures)
    compare(made.ceilings, made.paths, made.benchmarks)
    tell_anew(made)
    return made


def make_plain() -> Results:
    """What a first `make study` gives: two libraries, two paths and one local memory path."""
    full = made_once(make_results)
    keep = {"openmpi", "mpich"}
    full.complete, full.ended = True, "every cell is precise"
    full.sessions = full.sessions[:1]
    full.cells = [
        cell
        for cell in full.cells
        if cell.who in (Who("openmpi"), Who("mpich"))
        and cell.place.path in PATHS[:2]
        and cell.case.axes["calls"] == "blocking"
        and cell.status == "ok"
    ]
    full.libraries = [info for info in full.libraries if info.name in keep]
    for info in full.libraries:
        info.settings = [Settings()]
        info.version_text = f"{info.name} 5.0.7"
    full.paths = [path for path in full.paths if path.id != PATHS[2]]
    full.fits = [
        fit for fit in full.fits if fit.who.library in {"", *keep} and fit.place.path in PATHS[:2]
    ]
    full.comparisons = [item for item in full.comparisons if item.place.path in PATHS[:2]]
    full.curves = [item for item in full.curves if item.place.path in PATHS[:2]]
    full.failures, full.failure_kinds, full.drift = [], [], full.drift[1:2]
    tell_anew(full)
    return full


@pytest.fixture
def collective(plain: Results) -> Results:
    """The plain study with two collective operations between two ranks: 1 µs for 8 B, 200 µs for
    1 MiB and 1 µs for a barrier, of which half are bounds."""
    place = make_place(PATHS[0])
    operations = (
        ("allgather", Traffic(once=-1, times_ranks=1), {8: 1.0, 1 << 20: 200.0}),
        ("barrier", Traffic(), {0: 1.0}),
    )
    for name, traffic, times in operations:
        metric = Metric(name, "us", "lower")
        plain.benchmarks = [
            *plain.benchmarks,
            Benchmark(name, [metric], RankRule("at least", 2), traffic=traffic, ceiling="bound"),
        ]
        for size, us in times.items():
            point = make_ceiling(place, make_case("latency", size, {"reuse": "fixed"}))
            point.case = make_case(name, size, {"reuse": "fixed"})
            point.value, point.kind, point.method = us / 2, "bound", "latency 8 B, ring copy"
            point.values = [us / 2] * 6
            plain.ceilings.append(point)
            for who in (Who("openmpi"), Who("mpich")):
                held = make_case("latency", size)
                cell = make_cell(who, place, held, efficiency=0.5, ceiling=point)
                cell.case = make_case(name, size)
                cell.ceiling = CeilingValue(value=us / 2, method=point.method, kind="bound")
                bandwidths.add(cell, plain.benchmarks[-1])
                plain.cells.append(cell)
    tell_anew(plain)
    return plain


def gpu_path(
    name: str,
    theoretical_gbs: float | None = None,
    *,
    host: bool = False,
    same: bool = False,
    mps_of: str = "",
    pair: tuple[str, ...] = (),
) -> DataPath:
    """A path between two GPUs, within one (`same`), or from the host's memory to one (`host`)."""
    gpus = [Endpoint(memory="gpu", cpus=[0], numa_node=0, gpu=f"GPU-{letter}") for letter in "ab"]
    if host:
        gpus[0] = Endpoint(memory="host", cpus=[1], numa_node=0)
    return DataPath(
        id=name,
        summary=f"made up: {name}",
        transport="memory",
        ends=(gpus[1], gpus[1]) if same else tuple(gpus),
        theoretical_gbs=theoretical_gbs,
        mps=bool(mps_of),
        variant_of=mps_of,
        pair=pair,
    )


# GB/s without MPI; of the size that two H200 once showed, written by hand
GPU_RATES = [
    (gpu_path("gpu-gpu same-gpu", 2400.0, same=True), 2090.0),
    (gpu_path("gpu-gpu same-gpu mps", same=True, mps_of="gpu-gpu same-gpu"), 2090.0),
    (gpu_path("gpu-gpu nvlink", 478.0), 395.0),
    (gpu_path("host-gpu near", 126.0, host=True), 55.0),
    (gpu_path("gpu-gpu pair 0-1", pair=("0", "1")), 395.0),
    (gpu_path("gpu-gpu pair 0-2", pair=("0", "2")), 197.5),  # a slow link
    (gpu_path("gpu-gpu pair 1-2", pair=("1", "2")), 395.0),
]


def make_gpu() -> Results:
    """The plain study with GPU paths: one library that is GPU-aware, one that is staged."""
    study = made_once(make_plain)
    for path, rate in GPU_RATES:
        study.paths.append(path)
        for buffers in ("D,D",) if path.place.kind == "gpu-gpu" else ("H,D", "D,H"):
            for benchmark in ("latency", "bw"):
                for size in (8, 8192, 1 << 27):
                    case = make_case(benchmark, size, {"reuse": "fixed"}, buffers)
                    _add_gpu_cells(study, path.place, case, rate)
    nvlink = next(path.place for path in study.paths if path.id == "gpu-gpu nvlink")
    fact = make_ceiling(nvlink, make_case("latency", 8))
    fact.case = make_case("device_latency", 8, {"reuse": "fixed"}, "D,D")
    fact.method, fact.fact = "flag in peer memory", True
    study.ceilings.append(fact)
    study.awareness = [
        Awareness(
            library=library,
            settings="default",
            buffers=buffers,
            operation=operation,
            status="ok" if library == "openmpi" or buffers == "H,D" else "crashed",
            message="" if library == "openmpi" or buffers == "H,D" else "ended by SIGSEGV",
            command="by hand",
        )
        for library in ("openmpi", "mpich")
        for buffers in ("D,D", "H,D")
        for operation in ("send", "isend")
    ]
    compare(study.ceilings, study.paths, study.benchmarks)
    tell_anew(study)
    return study


def _add_gpu_cells(study: Results, place: Place, case: Case, rate: float) -> None:
    point = make_ceiling(place, case)
    point.value = curve(case.benchmark, case.x, rate, 7.0)
    study.ceilings.append(point)
    own = 0.09 if place.shared and not place.mps else 0.9
    for library, staging, efficiency in (("openmpi", "none", own), ("mpich", "pinned", 0.2)):
        axes = {"calls": "blocking", "reuse": "fixed", "staging": staging}
        mine = make_case(case.benchmark, case.x, axes, case.buffers)
        study.cells.append(
            make_cell(Who(library), place, mine, efficiency=efficiency, ceiling=point)
        )


@pytest.fixture
def tell() -> Callable[[Results], None]:
    """Tells anew what follows from the rest, of results that a test has changed."""
    return tell_anew


@pytest.fixture
def gpu() -> Results:
    """A study with GPU paths and all pairs of three GPUs."""
    return made_once(make_gpu)


@pytest.fixture
def finding(plain: Results) -> Finding:
    """Something that stands out."""
    return make_finding(plain.cells[0])


@pytest.fixture
def results() -> Results:
    """Results with every awkward thing in them."""
    return made_once(make_results)


@pytest.fixture
def plain() -> Results:
    """What a first `make study` gives."""
    return made_once(make_plain)
