# SPDX-License-Identifier: Apache-2.0
"""The subjects of a planned study that requirements may name."""

from collections.abc import Iterator

from nearpeak.launching.describe import Variant
from nearpeak.planning.ceilings import ceiling_benchmarks
from nearpeak.planning.plan import Group, Plan, Template
from nearpeak.terms.benchmarks import named
from nearpeak.terms.identity import CEILING, Curve
from nearpeak.terms.path import DataPath
from nearpeak.terms.subjects import Figures, Subject, add, subjects


def planned(plan: Plan) -> list[Subject]:
    """Returns everything that a plan is to measure, in the order of its variants; ceilings
    follow."""
    collected: Figures = {}
    for variant, launch in _measured(plan):
        benchmark = plan.benchmark(variant)
        # Of an application only its time is judged, as its rate follows from that.
        for metric in benchmark.metrics if benchmark.over_bytes else [benchmark.main]:
            curve = Curve(
                benchmark=benchmark.name,
                metric=metric.name,
                buffers=variant.buffers,
                axes=variant.axes,
            )
            sizes = plan.sizes_of(benchmark)
            add(collected, plan.who(launch), plan.place(launch), curve, metric, sizes)
    for path, launch, group in _ceilings(plan):
        extra = {"higher": [plan.plateaus[path.id]]} if path.id in plan.plateaus else {}
        for name in ceiling_benchmarks(plan, path, group.buffers):
            benchmark = named(plan.benchmarks, name)
            sizes = benchmark.sizes(plan.sizes_in(launch, group))
            for metric in benchmark.metrics:
                curve = Curve(
                    benchmark=name, metric=metric.name, buffers=group.buffers, axes=group.axes
                )
                all_sizes = [*sizes, *extra.get(metric.better, [])]
                add(collected, CEILING, path.place, curve, metric, all_sizes)
    return subjects(collected, plan.paths, plan.benchmarks)


def _measured(plan: Plan) -> Iterator[tuple[Variant, Template]]:
    """Yields each variant with each launch that measures it."""
    launches = [(number, launch) for launch in plan.launches for number in launch.variants]
    for number, launch in sorted(launches, key=lambda entry: entry[0]):
        yield plan.variants[number], launch


def _ceilings(plan: Plan) -> Iterator[tuple[DataPath, Template, Group]]:
    """Yields the groups of ceilings between ranks."""
    for launch in plan.launches:
        path = plan.find_path(launch.path)
        if launch.role == "ceiling" and not path.is_local:
            yield from ((path, launch, group) for group in launch.groups)
