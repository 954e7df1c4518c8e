# SPDX-License-Identifier: Apache-2.0
"""Finds the messages of a study that are furthest from the ceiling."""

from nearpeak.results.results import Cell, Results
from nearpeak.terms.axes import staging


def worst(results: Results, count: int) -> list[Cell]:
    """The `count` furthest cells of single messages, one for each library, path and buffers; those
    with an interval first."""
    one_message = {benchmark.name for benchmark in results.benchmarks if benchmark.one_message}
    furthest: dict[tuple[object, ...], Cell] = {}
    for cell in results.cells:
        if (
            cell.case.benchmark in one_message
            and cell.fraction
            and cell.place.hosts == 1
            and staging(cell.case.axes) is None
        ):
            key = cell.who, cell.place, cell.case.buffers
            if key not in furthest or cell.fraction < (furthest[key].fraction or 1.0):
                furthest[key] = cell
    ranked = sorted(furthest.values(), key=lambda cell: (cell.ci95 is None, cell.fraction or 1.0))
    return ranked[:count]
