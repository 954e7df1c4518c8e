# SPDX-License-Identifier: Apache-2.0
"""The libraries that have the best figure of a path: one of them, one of several that may be as
good, or all alike, so that nobody takes the best one for the only one that loses."""

from collections.abc import Sequence

from nearpeak.numbers import number, percent, unit
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Cell, Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.ratings import TIED

NEAR = 1.2  # times the least figure, below which figures are near each other
BOTH = 2


def marked(head: Headline) -> str:
    """`intel*`: the best library, with a mark if others may be as good."""
    return f"{head.best.label}{TIED if head.tied else ''}" if head.best else "the best library"


def alike(results: Results, head: Headline) -> list[Cell]:
    """The cells of all libraries in the case of a figure, if none is proven to be better than the
    others and all figures are near each other; empty if not, if a library has no figure, or if
    there is one library."""
    cells = _rivals(results, head)
    names = {cell.who.library for cell in cells}
    medians = [cell.median for cell in cells if cell.median]
    tied = {head.best, *head.tied} == {cell.who for cell in cells}
    if not tied or not 1 < len(names) == len(cells) == len(medians):
        return []
    return cells if max(medians) < NEAR * min(medians) else []


def everyone(cells: Sequence[Cell]) -> str:
    """`all 3 libraries` or `both libraries`."""
    return "both libraries" if len(cells) == BOTH else f"all {len(cells)} libraries"


def reached(results: Results, head: Headline) -> tuple[str, str]:
    """The libraries of a figure, and its value: `intel`, the only one, and `4.45 GB/s`; `all 3
    libraries`, and `4.29 to 4.45 GB/s`, if they are alike; else none, and `4.45 GB/s by intel* at
    best`."""
    value = f"{number(head.value)} {unit(head.unit)}"
    if cells := alike(results, head):
        ordered = [number(value) for value in sorted(cell.median or 0.0 for cell in cells)]
        return everyone(cells), f"{_span(ordered)} {unit(head.unit)}"
    if len(_rivals(results, head)) == 1:
        return marked(head), value
    return "", f"{value} by {marked(head)} at best"


def shares(cells: Sequence[Cell]) -> str:
    """`15.0 to 15.5`, in percent of the ceiling."""
    return _span([percent(share) for share in sorted(cell.fraction or 0.0 for cell in cells)])


def _rivals(results: Results, head: Headline) -> list[Cell]:
    """The cells of MPI libraries in the case of a figure, also those without one."""
    others = no_mpi(results) | guests(results)
    return [
        cell
        for cell in results.cells
        if (cell.place, cell.case) == (head.place, head.case)
        and cell.who.library not in others
        and staging(cell.case.axes) is None
    ]


def _span(ordered: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys([ordered[0], ordered[-1]]))
