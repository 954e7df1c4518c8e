# SPDX-License-Identifier: Apache-2.0
"""What something can be required of: every figure of a study, made from its plan or its results.

A requirement is checked and judged against the same list, so that nothing passes the check which
is not judged later.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nearpeak.identity import CEILING, Curve, Place, Who
from nearpeak.machine.model import Path
from nearpeak.results.model import Results
from nearpeak.results.theoretical import one_way
from nearpeak.study.benchmarks import Benchmark, Better, Metric, X, named
from nearpeak.study.buffers import ceiling_benchmarks, ceiling_buffers, is_measured
from nearpeak.study.model import Plan
from nearpeak.study.plan import state_of

MEMORY_RATES = [Metric("copy", "GB/s", "higher"), Metric("triad", "GB/s", "higher")]


@dataclass(frozen=True)
class Subject:
    """A figure of a library, or of a ceiling, over its sizes."""

    who: Who  # CEILING for a ceiling
    place: Place
    curve: Curve
    unit: str
    better: Better
    # Empty: one that the program chooses, for nobody to name.
    sizes: tuple[int, ...]
    x_unit: str = X().unit  # of the sizes
    has_ceiling: bool = False  # there is a ceiling that it can be a fraction of
    theoretical_gbs: float | None = None  # of its link; None: unknown, or of another kind


Found = dict[tuple[Who, Place, Curve], tuple[Metric, set[int]]]


def planned(plan: Plan) -> list[Subject]:
    """All that a plan is to measure, in the order of its variants; ceilings follow."""
    found: Found = {}
    for number, variant in enumerate(plan.variants):
        benchmark = plan.benchmark(variant)
        for launch in plan.launches:
            if number not in launch.variants:
                continue
            for metric in _judged(benchmark):
                curve = Curve(
                    benchmark=variant.benchmark,
                    metric=metric.name,
                    buffers=variant.buffers,
                    axes=variant.axes,
                )
                sizes = plan.sizes_of(benchmark)
                _add(found, plan.who(launch), plan.place(launch), curve, metric, sizes)
    for launch in plan.launches:
        path = plan.find_path(launch.path)
        if launch.role != "ceiling" or path.transport == "local":
            continue
        for group in launch.groups:
            for name in ceiling_benchmarks(plan, path, group.buffers):
                benchmark = named(plan.benchmarks, name)
                sizes = benchmark.sizes(plan.sizes_in(launch, group))
                plateau = [plan.plateaus[path.id]] if path.id in plan.plateaus else []
                for metric in benchmark.metrics:
                    more = plateau if metric.better == "higher" else []
                    curve = Curve(
                        benchmark=name, metric=metric.name, buffers=group.buffers, axes=group.axes
                    )
                    _add(found, CEILING, path.place, curve, metric, [*sizes, *more])
    return _subjects(found, plan.paths, plan.benchmarks)


def measured(results: Results) -> list[Subject]:
    """All that a study measured, or tried to, in the order of its results; ceilings follow."""
    found: Found = {}
    known = {one.name: one for one in results.benchmarks}
    paths = {path.place: path for path in results.paths}
    for cell in results.timed:
        metric = Metric(cell.case.metric, cell.unit, cell.better)
        _add(found, cell.who, cell.place, cell.case.curve, metric, [cell.case.x])
    for (_, place, curve), (metric, sizes) in list(found.items()):
        if is_measured(paths[place], known[curve.benchmark]):
            under = Curve(
                benchmark=curve.benchmark,
                metric=curve.metric,
                buffers=ceiling_buffers(curve.buffers),
                axes=dict(state_of(curve.axes)),
            )
            _add(found, CEILING, place, under, metric, sizes)
    for point in results.ceilings:
        if point.kind == "measured" and not point.fact and point.place.transport != "local":
            metric = Metric(point.case.metric, point.unit, point.better)
            _add(found, CEILING, point.place, point.case.curve, metric, [point.case.x])
    return _subjects(found, results.paths, results.benchmarks)


def _judged(benchmark: Benchmark) -> list[Metric]:
    """Of an application its time alone: its rate follows from that."""
    return benchmark.metrics if benchmark.over_bytes else [benchmark.main]


def _add(
    found: Found, who: Who, place: Place, curve: Curve, metric: Metric, sizes: Iterable[int]
) -> None:
    found.setdefault((who, place, curve), (metric, set()))[1].update(sizes)


def _subjects(
    found: Found, paths: Iterable[Path], benchmarks: Iterable[Benchmark]
) -> list[Subject]:
    known = {one.name: one for one in benchmarks}
    places = {path.place: path for path in paths}
    comparable = one_way(known.values())
    subjects = [
        Subject(
            who=who,
            place=place,
            curve=curve,
            unit=metric.unit,
            better=metric.better,
            sizes=tuple(sorted(sizes)),
            x_unit=known[curve.benchmark].x.unit,
            has_ceiling=who != CEILING and known[curve.benchmark].has_ceiling,
            theoretical_gbs=places[place].theoretical_gbs if comparable(curve) else None,
        )
        for (who, place, curve), (metric, sizes) in found.items()
    ]
    return [*subjects, *_memories(places)]


def _memories(places: Mapping[Place, Path]) -> Iterator[Subject]:
    """What memories carry, which no benchmark is held against."""
    for place, path in places.items():
        for metric in MEMORY_RATES if path.transport == "local" else []:
            curve = Curve(
                benchmark=metric.name, metric=metric.name, buffers="H,H", axes=dict(state_of({}))
            )
            yield Subject(CEILING, place, curve, metric.unit, metric.better, sizes=())
