# Every cell in this file is written by hand, none was measured here; many medians are of the size
# that two H200 once showed.
# SPDX-License-Identifier: Apache-2.0
"""Cells for the tests of findings."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nearpeak.findings.evidence import Noticed, PossibleLoss, View
from nearpeak.findings.rules import all_rules
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Diagnosis, Machine, unknown
from nearpeak.observations.explained import Budget, ExplainedCase, Explanation, Part
from nearpeak.observations.observed import (
    Block,
    Launch,
    Library,
    Observation,
    Observations,
    Summary,
)
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.results import CeilingPoint, CeilingValue, Cell
from nearpeak.terms.benchmarks import Axis, Benchmark, Metric, Moves, RankRule, Traffic
from nearpeak.terms.identity import Case, Place, Who
from nearpeak.terms.path import DataPath, Endpoint

PAIR = RankRule("exactly", 2)
BENCHMARKS = [
    Benchmark(
        "latency", [Metric("latency", "us", "lower")], PAIR, ceiling="measured", family="pt2pt",
    ),
    Benchmark(
        "bw", [Metric("bw", "GB/s", "higher")], PAIR, smallest=1, symmetric=False,
        ceiling="measured", family="pt2pt",
    ),
    Benchmark(
        "put_bw", [Metric("put_bw", "GB/s", "higher")], PAIR, smallest=1, symmetric=False,
        ceiling="measured", family="rma", one_sided="put", bound_by="bw",
    ),
    Benchmark(
        "get_bw", [Metric("get_bw", "GB/s", "higher")], PAIR, smallest=1, symmetric=False,
        ceiling="bound", family="rma", one_sided="get", bound_by="bw",
    ),
    Benchmark(
        "put_latency", [Metric("put_latency", "us", "lower")], PAIR, symmetric=False,
        ceiling="bound", family="rma", one_sided="put", bound_by="latency",
    ),
    Benchmark(
        "bibw", [Metric("bibw", "GB/s", "higher")], PAIR, smallest=1, ceiling="measured",
        family="pt2pt", moves=Moves(ways=2, window=True),
    ),
    Benchmark(
        "vector", [Metric("vector", "us", "lower")], PAIR, family="datatype", ceiling="bound",
        bound_by="latency", axes=[Axis("pack", ["direct", "mpi", "kernel"], "direct")],
    ),
    Benchmark(
        "iallreduce", [Metric("iallreduce", "ratio", "lower")], RankRule("at least", 2),
        family="overlap", ceiling="bound", bound=1.0,
    ),
    Benchmark(
        "allreduce", [Metric("allreduce", "us", "lower")], RankRule("at least", 2),
        axes=[Axis("type", ["float"], "float")], traffic=Traffic(once=2, by_ranks=-2),
    ),
    Benchmark(
        "bcast", [Metric("bcast", "us", "lower")], RankRule("at least", 2),
        traffic=Traffic(once=1), covered_by=["allreduce"],
    ),
]  # fmt: skip
GPUS = ("gpu", "gpu")
NVLINK = Place(path="gpu-gpu nvlink", ends=GPUS)
SAME = Place(path="gpu-gpu same-gpu", ends=GPUS, shared=True)
MPS = Place(path="gpu-gpu same-gpu mps", ends=GPUS, shared=True, mps=True, variant_of=SAME.path)
NEAR = Place(path="host-gpu near", ends=("host", "gpu"), host_device="own")
NEAR_SAME_GPU = Place(
    path="host-gpu near same-gpu", ends=("host", "gpu"), host_device="same", variant_of=NEAR.path
)
HOST = Place(path="host-host same-numa")
HOST_GPU_SUPPORT = Place(path="host-host same-numa gpu-support", variant_of=HOST.path)
MIB = 1 << 20


def make_cell(
    benchmark: str,
    median: float,
    *,
    x: int = 8,
    library: str = "openmpi",
    settings: str = "default",
    place: Place = NVLINK,
    buffers: str = "D,D",
    noise: float = 0.02,
    launches: int = 6,
    ceiling: float | None = None,
    **axes: str,
) -> Cell:
    """A cell whose launches lie up to `noise` on either side of its median."""
    metric = next(known for known in BENCHMARKS if known.name == benchmark).main
    # Not in one order for all cells: paired ratios vary too.
    turns = sum(map(ord, library + settings + buffers + place.path)) % max(launches, 1)
    steps = [2 * index / max(launches - 1, 1) - 1 for index in range(launches)]
    medians = [median * (1 + noise * step) for step in steps[turns:] + steps[:turns]]
    return Cell(
        who=Who(library, settings),
        place=place,
        case=Case(benchmark=benchmark, metric=benchmark, buffers=buffers, axes=axes, x=x),
        unit=metric.unit,
        better=metric.better,
        window=64 if metric.unit == "GB/s" else 1,
        median=median,
        ci95=None,
        range=(min(medians), max(medians)),
        launch_medians=medians,
        blocks=[Block(0, number) for number in range(launches)],
        p05=median,
        p95=median,
        minimum=median,
        first_use_us=1.0,
        launches=launches,
        ceiling=None if ceiling is None else CeilingValue(value=ceiling, method="ce"),
        fraction=None,
        fraction_ci95=None,
        status="ok",
        flags=[],
        command="by hand",
        lies_in="memory",
    )


MACHINE = unknown()


def make_launch(block: int, who: Who | None = None, place: Place = NVLINK, **known: Any) -> Launch:
    """One that ended well, in a block of session 0."""
    return Launch(
        number=block,
        block=Block(0, block),
        who=who or Who("openmpi"),
        place=place,
        curves=(),
        status="ok",
        **known,
    )


def library(family: str, *, native: bool = False) -> Library:
    """One that is named as its family."""
    return Library(
        who=Who(family),
        family=family,
        version="1",
        version_text="",
        env={},
        given=Settings(),
        native=native,
    )


def observed(launch: Launch, cell: Cell) -> Observation:
    """What a launch measured of a cell."""
    return Observation(
        launch=launch, case=cell.case, unit=cell.unit, better=cell.better,
        summary=Summary(cell.by_block[launch.block]), samples=None, origin="", window=cell.window,
    )  # fmt: skip


def diagnosed(name: str, message: str, severity: str = "warn", **known: Any) -> Machine:
    """The machine, of which doctor said this."""
    said = [Diagnosis(severity=severity, id=name, message=message, **known)]
    return msgspec.structs.replace(MACHINE, diagnoses=said)


def view(
    cells: Sequence[Cell],
    given: Mapping[Who, Settings] | None = None,
    launches: Sequence[Launch] = (),
    **observed: Any,
) -> View:
    """The view of these cells and their ceilings, and of what else was observed."""
    known: dict[str, Any] = {
        "name": "by hand",
        "started": "",
        "nearpeak": "",
        "complete": True,
        "machine": MACHINE,
        "paths": [],
        "libraries": [],
        "benchmarks": BENCHMARKS,
        "curves": [],
        "sessions": [],
        "launches": list(launches),
    }
    return View(
        [cell for cell in cells if cell.median],
        {benchmark.name: benchmark for benchmark in BENCHMARKS},
        given or {},
        Ceilings(map(ceiling, (cell for cell in cells if cell.ceiling))),
        Observations(**known | observed),
        list(launches),
    )


def ceiling(cell: Cell) -> CeilingPoint:
    """The same in each block of a cell."""
    assert cell.ceiling is not None
    value = cell.ceiling.value
    return CeilingPoint(
        place=cell.place,
        case=cell.case,
        unit=cell.unit,
        better=cell.better,
        value=value,
        ci95=None,
        range=(value, value),
        values=[value] * len(cell.blocks),
        blocks=cell.blocks,
        method=cell.ceiling.method,
        methods={},
    )


def seen(
    kind: str,
    cells: Sequence[Cell],
    given: Mapping[Who, Settings] | None = None,
    **observed: Any,
) -> list[PossibleLoss]:
    """What one rule finds in them: of each cell that loses in each block, the greatest loss."""
    (rule,) = [known for known in all_rules() if known.name == kind]
    greatest: dict[object, PossibleLoss] = {}
    for found in rule.find(view(cells, given, **observed)):
        if isinstance(found, PossibleLoss) and found.loss.everywhere:
            key = id(found.cell)
            greatest[key] = max(found, greatest.get(key, found), key=lambda each: each.loss.ratio)
    return list(greatest.values())


def noticed(kind: str, cells: Sequence[Cell] = (), **observed: Any) -> list[Noticed]:
    """What one rule notices in what was observed."""
    (rule,) = [known for known in all_rules() if known.name == kind]
    return [each for each in rule.find(view(cells, **observed)) if isinstance(each, Noticed)]


def part(kind: str, name: str, time_us: float, **given: Any) -> Part:
    """Of a message that takes 100 µs."""
    known: dict[str, Any] = {
        "rank": 1,
        "count": 1.0,
        "mean_us": time_us,
        "bytes": None,
        "own": False,
    }
    return Part(kind=kind, name=name, time_us=time_us, busy_us=time_us, **{**known, **given})


def explained(
    *parts: Part, buffers: str = "H,D", size: int = 1 << 20, **of_case: Any
) -> Explanation:
    """100 messages of 100 µs each, which take no longer under the microscope."""
    budget = Budget(
        leg=of_case.pop("leg", "there"), messages=of_case.pop("messages", 100),
        slower=of_case.get("slower", 1.0), time_us=100.0, parts=list(parts), waiting_us=0.0,
        not_accounted_us=100 - sum(part.time_us for part in parts), own=[],
        shown_us=100.0, lanes=[],
    )  # fmt: skip
    known: dict[str, Any] = {"slower": 1.0, "operations": 2.0, "lost": 0, "missing": []}
    known |= {"failed": "", "device": "", "axes": {}} | of_case
    known = {"slower_least": known["slower"], "slower_most": known["slower"]} | known
    known = {"plain_values": [100.0] * 3, "seen_values": [100.0] * 3} | known
    case = ExplainedCase(
        size_bytes=size, metric="latency", unit="us", value=100.0, seen_value=100.0,
        ceiling=None, ceiling_method=None, budgets=[budget], counters=[], **known,
    )  # fmt: skip
    return Explanation(
        schema=1, nearpeak="0", started="", host="h", gpus=[], driver=None, library="one",
        version="1", settings="default", path="host-gpu near", path_summary="", command="",
        benchmark="latency", buffers=buffers, cases=[case],
    )  # fmt: skip


# Of the explanations: their library and their path, as the study has them.
EXPLAINED = {
    "libraries": [
        Library(
            who=Who("one"), family="openmpi", version="1", version_text="", env={},
            given=Settings(), native=False,
        )
    ],
    "paths": [
        DataPath(
            id="host-gpu near", summary="", transport="memory",
            ends=(
                Endpoint(memory="host", cpus=[0], numa_node=0),
                Endpoint(memory="gpu", cpus=[1], numa_node=0, gpu="GPU"),
            ),
        )
    ],
}  # fmt: skip


def signs(kind: str, *explanations: Explanation, **observed: Any) -> list[Noticed]:
    """What a rule notices in messages of that library on that path."""
    return noticed(kind, explanations=list(explanations), **{**EXPLAINED, **observed})


def told(kind: str, *explanations: Explanation) -> list[str]:
    """The facts of these: `memcpy of 8 B by rank 1: 20.0 µs, ...`."""
    found = signs(kind, *explanations)
    return [f"{fact.name}: {fact.value}" for each in found for fact in each.facts]
