# SPDX-License-Identifier: Apache-2.0
"""What a study's results can be required of."""

from nearpeak.results.ceilings import under
from nearpeak.results.results import Results
from nearpeak.terms.benchmarks import Metric, by_name
from nearpeak.terms.buffers import is_measured
from nearpeak.terms.identity import CEILING
from nearpeak.terms.subjects import Figures, Subject, add, subjects


def measured(results: Results) -> list[Subject]:
    """All that a study measured, or tried to, in the order of its results; ceilings follow."""
    found: Figures = {}
    known = by_name(results.benchmarks)
    paths = {path.place: path for path in results.paths}
    for cell in results.timed:
        metric = Metric(cell.case.metric, cell.unit, cell.better)
        add(found, cell.who, cell.place, cell.case.curve, metric, [cell.case.x])
    for (_, place, curve), (metric, sizes) in list(found.items()):
        if is_measured(paths[place], known[curve.benchmark]):
            add(found, CEILING, place, under(curve), metric, sizes)
    for point in results.ceilings:
        if point.kind == "measured" and not point.fact and point.place.transport != "local":
            metric = Metric(point.case.metric, point.unit, point.better)
            add(found, CEILING, point.place, point.case.curve, metric, [point.case.x])
    return subjects(found, results.paths, results.benchmarks)
