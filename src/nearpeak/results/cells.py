# SPDX-License-Identifier: Apache-2.0
"""From launches to cells: what was measured of each case, what went wrong, and the sums."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nearpeak.results import ceilings, statistics
from nearpeak.results.model import CeilingValue, Cell, Failure, Mode, Skip
from nearpeak.results.reading import Case, LaunchData, StudyData
from nearpeak.study.answers import asked
from nearpeak.study.benchmarks import Benchmark, named
from nearpeak.study.precision import interval, precise

ABOVE = 1.03  # a larger fraction is a defect of the ceiling
FEW = 6  # launches: below there is no 95 % interval
OUTLIER = 3.0  # interquartile ranges beyond the quartiles: Tukey's outer fences

# A cell with several is called by the first.
WORST_FIRST = ["wrong data", "crashed", "hung", "failed", "skipped", "above ceiling", "no ceiling"]
NO_FAILURE = {"ok", "interrupted"}  # what a launch may end with that says nothing against it


class Key(NamedTuple):
    """What makes a cell; the axes as sorted pairs."""

    library: str
    settings: str
    path: str
    benchmark: str
    metric: str
    axes: tuple[tuple[str, str], ...]
    buffers: str
    size_bytes: int


@dataclass
class Gathered:
    """The launches of one cell: those that measured it, and what went wrong in others."""

    measured: list[tuple[LaunchData, Case]] = field(default_factory=list)
    tried: list[LaunchData] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)


def gather(data: StudyData) -> dict[Key, Gathered]:
    """Every cell that a launch measured or tried to.

    A case that a launch did not measure goes by how the launch ended.
    """
    cells: dict[Key, Gathered] = defaultdict(Gathered)
    benchmarks = {benchmark.name: benchmark for benchmark in data.plan.benchmarks}
    later: list[tuple[Key, LaunchData, str]] = []  # what a launch that failed did not begin with
    for launch in data.launches:
        begin = launch.begin
        if begin.role != "mpi":
            continue
        who = (begin.library, begin.settings, begin.path)
        reached = set()
        for problem in launch.problems:
            for metric in benchmarks[problem.benchmark].metrics:
                what = (problem.benchmark, metric.name, _axes(problem.axes))
                key = Key(*who, *what, problem.buffers, problem.size_bytes)
                reached.add(key)
                cells[key].tried.append(launch)
                cells[key].wrong.add(problem.status)
        for case in launch.believable:
            record = case.record
            what = (record.benchmark, record.metric, _axes(record.axes))
            key = Key(*who, *what, record.buffers, record.size_bytes)
            if key not in reached:
                reached.add(key)
                cells[key].measured.append((launch, case))
        if launch.end is None or launch.end.status in NO_FAILURE:
            continue
        status: str = launch.end.status
        if status == "wrong data" and any(p.status == status for p in launch.problems):
            status = "skipped"  # the cases with wrong data are named; the others were not reached
        failed = False
        for chosen in begin.benchmarks:
            benchmark, axes = benchmarks[chosen.benchmark], _axes(chosen.axes)
            missing = [
                key
                for metric, size in asked(data.plan, benchmark)
                if (key := Key(*who, benchmark.name, metric, axes, begin.buffers, size))
                not in reached
            ]
            for key in missing:
                if failed:
                    later.append((key, launch, status))
                else:
                    cells[key].tried.append(launch)
                    cells[key].wrong.add(status)
            failed = failed or bool(missing)
    for key, launch, status in later:
        # Where another launch says something of the case, this one says nothing.
        if not cells[key].measured and not cells[key].wrong:
            cells[key].tried.append(launch)
            cells[key].wrong.add(status)
    return cells


def _axes(axes: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(axes.items()))


def summarise(
    data: StudyData,
    gathered: dict[Key, Gathered],
    limits: dict[ceilings.Where, list[ceilings.Ceiling]],
    drifted: set[int],
) -> list[Cell]:
    """The cells, in the order of the plan. `drifted`: the blocks whose probe went astray."""
    paths = [path.id for path in data.plan.paths]
    contenders = [(c.library.name, c.settings.name) for c in data.plan.contenders]
    variants = [(v.benchmark, v.buffers, _axes(v.axes)) for v in data.plan.variants]
    metrics = [(one.name, metric.name) for one in data.plan.benchmarks for metric in one.metrics]

    def place(item: tuple[Key, Gathered]) -> tuple[int, int, int, int, Key]:
        key = item[0]
        return (
            paths.index(key.path),
            contenders.index((key.library, key.settings)),
            variants.index((key.benchmark, key.buffers, key.axes)),
            metrics.index((key.benchmark, key.metric)),
            key,
        )

    return [
        _cell(key, cell, named(data.plan.benchmarks, key.benchmark), limits, drifted)
        for key, cell in sorted(gathered.items(), key=place)
    ]


def _cell(
    key: Key,
    gathered: Gathered,
    benchmark: Benchmark,
    limits: dict[ceilings.Where, list[ceilings.Ceiling]],
    drifted: set[int],
) -> Cell:
    believed = [] if "wrong data" in gathered.wrong else gathered.measured
    believed = sorted(believed, key=lambda pair: pair[0].begin.block)
    medians = [float(np.median(case.samples)) for _, case in believed]
    blocks = [launch.begin.block for launch, _ in believed]
    axes = dict(key.axes)
    kind = next(metric for metric in benchmark.metrics if metric.name == key.metric)
    cell = Cell(
        library=key.library,
        settings=key.settings,
        path=key.path,
        benchmark=key.benchmark,
        metric=key.metric,
        size_bytes=key.size_bytes,
        buffers=key.buffers,
        axes=axes,
        unit=kind.unit,
        better=kind.better,
        window=believed[0][1].record.window if believed else None,
        median=None,
        ci95=None,
        range=None,
        launch_medians=medians,
        blocks=blocks,
        p05=None,
        p95=None,
        minimum=None,
        first_use_us=None,
        launches=len(medians),
        ceiling=None,
        fraction=None,
        fraction_ci95=None,
        status="ok",
        flags=[],
        command=_command(gathered),
    )
    wrong = set(gathered.wrong)
    if medians:
        _sum_up(cell, [case for _, case in believed])
        cell.flags = _flags(cell, [case for _, case in believed], drifted)
        cell.modes = _modes([launch for launch, _ in believed], medians)
        if cell.modes:
            cell.flags.append("bimodal")
        # Of nothing there is no rate.
        if benchmark.has_ceiling and (key.size_bytes > 0 or kind.better == "lower"):
            where = (key.path, key.metric, key.size_bytes, key.buffers)
            wrong |= _compare(cell, ceilings.matching(limits, where, axes, kind.better))
    cell.status = min(
        wrong, key=lambda s: WORST_FIRST.index(s if s in WORST_FIRST else "failed"), default="ok"
    )
    return cell


def _command(gathered: Gathered) -> str:
    """Of the last launch that measured the cell and ended well, else of the last one at all."""
    measured = [launch for launch, _ in gathered.measured]
    good = [launch for launch in measured if launch.end and launch.end.status == "ok"]
    return (good or measured or gathered.tried)[-1].begin.command


def _sum_up(cell: Cell, cases: list[Case]) -> None:
    medians = cell.launch_medians
    samples = np.concatenate([case.samples for case in cases])
    low, high = np.percentile(samples, [5, 95])
    cell.median = float(np.median(medians))
    cell.ci95 = interval(medians)
    cell.range = (min(medians), max(medians))
    cell.p05, cell.p95, cell.minimum = float(low), float(high), float(samples.min())
    cell.first_use_us = float(np.median([case.record.first_use_us for case in cases]))
    cell.outlier_share = sum(_outliers(case) for case in cases) / len(samples)


def _outliers(case: Case) -> int:
    low, high = np.percentile(case.samples, [25, 75])
    reach = OUTLIER * (high - low)
    inside = (case.samples >= low - reach) & (case.samples <= high + reach)
    return int(len(case.samples) - np.count_nonzero(inside))


def _flags(cell: Cell, cases: list[Case], drifted: set[int]) -> list[str]:
    enough = cell.launches >= FEW
    flags = {
        "few launches": not enough,
        "imprecise": enough and not precise(cell.launch_medians, cell.better),
        "few samples": any(case.record.limited for case in cases),
        "drift": not drifted.isdisjoint(cell.blocks),
    }
    return [name for name, raised in flags.items() if raised]


def _compare(cell: Cell, ceiling: ceilings.Ceiling | None) -> set[str]:
    """Sets the ceiling and the fraction of it; what is wrong with them."""
    if ceiling is None:
        return {"no ceiling"}
    shares = ceilings.fractions(cell.launch_medians, cell.blocks, ceiling, cell.better)
    if not shares:  # no block measured both
        return {"no ceiling"}
    cell.ceiling = CeilingValue(value=ceiling.point.value, method=ceiling.point.method)
    cell.fraction = float(np.median(shares))
    cell.fraction_ci95 = interval(shares)
    if cell.fraction <= ABOVE:
        return set()
    cell.flags.append("above ceiling")
    return {"above ceiling"}


def _modes(launches: list[LaunchData], medians: list[float]) -> list[Mode]:
    """Both modes of the launch medians, the lower first; empty when there is but one."""
    upper = statistics.two_modes(medians)
    if upper is None:
        return []
    conditions = [_conditions(launch) for launch in launches]
    modes = []
    for members in (~upper, upper):
        own = [c for c, member in zip(conditions, members, strict=True) if member]
        others = [c for c, member in zip(conditions, members, strict=True) if not member]
        modes.append(
            Mode(
                median=float(np.median(np.asarray(medians)[members])),
                share=float(np.mean(members)),
                blocks=[
                    launch.begin.block
                    for launch, member in zip(launches, members, strict=True)
                    if member
                ],
                conditions={
                    name: value
                    for name, value in own[0].items()
                    if all(c.get(name) == value for c in own)
                    and all(c.get(name) != value for c in others)
                },
            )
        )
    return modes


def _conditions(launch: LaunchData) -> dict[str, str]:
    """What a launch's environment record says, flattened: `rank 0 cpus`, `env OMPI_...`."""
    environment = launch.environment
    if environment is None:
        return {}
    found = {"library version": environment.library_version or ""}
    found |= {f"env {name}": value for name, value in environment.env.items()}
    for number, rank in enumerate(environment.ranks):
        found |= {f"rank {number} {name}": str(value) for name, value in rank.items()}
    return found


def failures(data: StudyData) -> list[Failure]:
    """The launches that did not end well; one that was interrupted from outside is none."""
    found = []
    for launch in data.launches:
        begin, end = launch.begin, launch.end
        status: str
        wrong = [p for p in launch.problems if p.status == "wrong data"]
        if end is not None and end.status not in NO_FAILURE:
            status, message = end.status, end.message
        elif wrong:
            status = wrong[0].status
            message = f"{wrong[0].benchmark} {wrong[0].size_bytes} bytes: {wrong[0].message}"
        else:
            continue
        if len(wrong) > 1:
            message += f" (wrong data in {len(wrong)} cases)"
        found.append(
            Failure(
                launch=begin.launch,
                library=begin.library,
                settings=begin.settings,
                path=begin.path,
                benchmark=", ".join(chosen.benchmark for chosen in begin.benchmarks),
                status=status,
                message=message,
                command=begin.command,
                log=end.log if end else None,
            )
        )
    return found


def skipped(data: StudyData) -> list[Skip]:
    """What was not measured and why, each reason once with all its sizes."""
    sizes: dict[tuple[str, str, str, str, str | None, str], set[int]] = defaultdict(set)
    for launch in data.launches:
        begin = launch.begin
        for problem in launch.problems:
            if problem.status == "skipped":
                sizes[
                    begin.library,
                    begin.settings,
                    begin.path,
                    problem.benchmark,
                    problem.method,
                    problem.message,
                ].add(problem.size_bytes)
    return [
        Skip(
            library=library,
            settings=settings,
            path=path,
            benchmark=benchmark,
            method=method,
            sizes=sorted(found),
            message=message,
        )
        for (library, settings, path, benchmark, method, message), found in sizes.items()
    ]
