# SPDX-License-Identifier: Apache-2.0
"""The subjects of a planned study that requirements may name."""

from nearpeak.planning.ceilings import ceiling_benchmarks
from nearpeak.planning.plan import Plan
from nearpeak.terms.benchmarks import Benchmark, Metric, named
from nearpeak.terms.identity import CEILING, Curve
from nearpeak.terms.subjects import Figures, Subject, add, subjects


def planned(plan: Plan) -> list[Subject]:
    """Returns everything that a plan is to measure, in the order of its variants; ceilings
    follow."""
    collected: Figures = {}
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
                add(collected, plan.who(launch), plan.place(launch), curve, metric, sizes)
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
                    extra_sizes = plateau if metric.better == "higher" else []
                    curve = Curve(
                        benchmark=name, metric=metric.name, buffers=group.buffers, axes=group.axes
                    )
                    add(collected, CEILING, path.place, curve, metric, [*sizes, *extra_sizes])
    return subjects(collected, plan.paths, plan.benchmarks)


def _judged(benchmark: Benchmark) -> list[Metric]:
    """Returns the metrics that are judged: of an application only its time, as its rate follows
    from that."""
    return benchmark.metrics if benchmark.over_bytes else [benchmark.main]
