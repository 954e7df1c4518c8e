# SPDX-License-Identifier: Apache-2.0
"""Selections from `Results` that the terminal, the page and the exports share, besides figures.

wording.py has their text, headlines.py the figures of each path.
"""

from nearpeak.results.cells import is_defect
from nearpeak.results.order import places, ranking
from nearpeak.results.results import Cell, CurveComparison, Flag, Results
from nearpeak.statistics.verdicts import EQUIVALENT, FASTER, SLOWER, TWO_MODES, UNDECIDED, Word

VERDICTS: tuple[Word, ...] = (FASTER, SLOWER, EQUIVALENT, UNDECIDED, TWO_MODES)
FLAGS: dict[Flag, str] = {  # of cells, with their meaning
    "few launches": "fewer than 6 launches: a range instead of an interval",
    "mean": "another tool tells the means of its launches, and not their medians",
    "imprecise": "the interval, or the range of few launches, is wider than the aim",
    "sessions apart": "sessions differ by more than launches explain: the interval takes that in",
    "fractions apart": "the same of the fractions of the ceiling",
    "few samples": "a launch took fewer samples than were asked for",
    "bimodal": "the launch medians fall into two groups",
    "held down": "a launch ran on hot or slowed hardware, or a hypervisor took its CPU time",
    "drift": "a launch ran while the path changed",
    "fewer blocks": "some blocks have no ceiling, or one at another distance of the CPUs: the"
    " fraction rests on fewer than the median",
    "above ceiling": "a fraction above 1.03: a defect of the ceiling, unless its interval has 1",
}


def defects(results: Results) -> list[Cell]:
    """The cells that lie above their ceiling, worst first."""
    return sorted(filter(is_defect, results.cells), key=lambda cell: -(cell.fraction or 0.0))


def flags(results: Results) -> list[tuple[Flag, str]]:
    """The flags that any cell has, each with its meaning."""
    raised = {flag for cell in results.cells for flag in cell.flags}
    return [(flag, meaning) for flag, meaning in FLAGS.items() if flag in raised]


def judged_curves(results: Results) -> list[CurveComparison]:
    """The curves that were compared, in the order of the tables."""
    order = {place: number for number, place in enumerate(places(results))}
    rank = ranking(results)
    return sorted(results.curves, key=lambda curve: (order[curve.place], rank(curve.curve)))
