# SPDX-License-Identifier: Apache-2.0
"""The subjects of requirements in a study's results."""

from nearpeak.results.ceilings import under
from nearpeak.results.results import Results
from nearpeak.terms.benchmarks import Metric, by_name
from nearpeak.terms.buffers import is_measured
from nearpeak.terms.identity import CEILING
from nearpeak.terms.path import by_place
from nearpeak.terms.subjects import Figures, Subject, add, subjects


def measured(results: Results) -> list[Subject]:
    """All that a study measured, or tried to, in the order of its results; ceilings follow."""
    collected: Figures = {}
    benchmarks = by_name(results.benchmarks)
    paths = by_place(results.paths)
    for cell in results.timed:
        metric = Metric(cell.case.metric, cell.unit, cell.better)
        add(collected, cell.who, cell.place, cell.case.curve, metric, [cell.case.x])
    for (_, place, curve), (metric, sizes) in list(collected.items()):
        if is_measured(paths[place], benchmarks[curve.benchmark]):
            add(collected, CEILING, place, under(curve), metric, sizes)
    for point in results.ceilings:
        if point.kind == "measured" and not point.fact and point.place.transport != "local":
            metric = Metric(point.case.metric, point.unit, point.better)
            add(collected, CEILING, point.place, point.case.curve, metric, [point.case.x])
    return subjects(collected, results.paths, results.benchmarks)
