# SPDX-License-Identifier: Apache-2.0
"""How narrow the intervals of a study are, against what they are aimed at."""

from collections.abc import Sequence
from statistics import median

from nearpeak.results.results import Cell, Precision
from nearpeak.statistics.intervals import goal


def find(cells: Sequence[Cell]) -> Precision | None:
    """None without an interval."""
    known = [(cell.half_width, cell) for cell in cells if cell.half_width is not None]
    if not known:
        return None
    widest, cell = max(known, key=lambda pair: pair[0] / goal(pair[1].better))
    return Precision(
        intervals=len(known),
        median=median(width for width, _ in known),
        aim_of_rates=goal("higher"),
        aim_of_times=goal("lower"),
        wider=sum("imprecise" in other.flags for _, other in known),
        widest=widest,
        who=cell.who,
        place=cell.place,
        case=cell.case,
    )
