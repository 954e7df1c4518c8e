# SPDX-License-Identifier: Apache-2.0
"""The width of the intervals of a study, compared with its aim."""

from collections.abc import Sequence
from statistics import median

from nearpeak.results.results import Cell, Precision
from nearpeak.statistics.intervals import goal


def find(cells: Sequence[Cell]) -> Precision | None:
    """None without an interval."""
    widths = [(cell.half_width, cell) for cell in cells if cell.half_width is not None]
    if not widths:
        return None
    widest, cell = max(widths, key=lambda pair: pair[0] / goal(pair[1].better))
    return Precision(
        intervals=len(widths),
        median=median(width for width, _ in widths),
        aim_of_rates=goal("higher"),
        aim_of_times=goal("lower"),
        wider=sum("imprecise" in other.flags for _, other in widths),
        widest=widest,
        who=cell.who,
        place=cell.place,
        case=cell.case,
    )
