# SPDX-License-Identifier: Apache-2.0
"""What other tools measured, beside what a study has of the same path: at which size both are told,
and in what they differ."""

from collections import defaultdict
from collections.abc import Sequence

from nearpeak.results.ceilings import Ceilings
from nearpeak.results.held import apart
from nearpeak.results.order import guests
from nearpeak.results.results import (
    CeilingPoint,
    Cell,
    Difference,
    Imported,
    Reference,
    Results,
)
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import QUOTED_BYTES
from nearpeak.terms.buffers import ceiling_buffers
from nearpeak.terms.identity import Curve, Place, Who

BUFFERS, FIGURE = "buffers", "figure"  # what differs, besides axes
# One figure of a path, in the same memories, whatever the axes.
Figure = tuple[Place, str, str, str]


def find(results: Results, ceilings: Ceilings) -> list[Imported]:
    """One for each curve that was imported beside a study, in the order of the cells.

    A time is told at 8 bytes, a rate at the largest size: of those that a library of the study has
    too, else of all.
    """
    theirs: dict[Figure, list[Cell]] = defaultdict(list)
    curves: dict[tuple[Who, Place, Curve], list[Cell]] = defaultdict(list)
    native = {info.name for info in results.libraries if info.native}
    imported = guests(results)
    for cell in results.cells:
        if cell.median is None:
            continue
        if cell.who.library in imported:
            curves[cell.who, cell.place, cell.case.curve].append(cell)
        elif cell.who.library not in native and staging(cell.case.axes) is None:
            theirs[_figure(cell.place, cell.case)].append(cell)
    return [
        _beside(cells, theirs[_figure(place, curve)], ceilings)
        for (_, place, curve), cells in curves.items()
    ]


def _figure(place: Place, curve: Curve) -> Figure:
    return place, curve.benchmark, curve.metric, ceiling_buffers(curve.buffers)


def _beside(cells: list[Cell], theirs: Sequence[Cell], ceilings: Ceilings) -> Imported:
    at = {other.case.x for other in theirs}
    cell = _told([cell for cell in cells if cell.case.x in at] or cells)
    # Of the same curve, where the study has it; else of that which it measures first.
    curves = [other.case.curve for other in theirs]
    own = cell.case.curve
    curve = own if own in curves or not curves else curves[0]
    rivals = [other for other in theirs if other.case == curve.at(cell.case.x)]
    best = max(
        rivals,
        key=lambda other: better_by(other.median or 0.0, cell.median or 1.0, cell.better),
        default=None,
    )
    found = Imported(
        who=cell.who,
        place=cell.place,
        case=cell.case,
        unit=cell.unit,
        better=cell.better,
        value=cell.median or 0.0,
        library=best.who if best else None,
        library_value=best.median if best else None,
    )
    held = ceilings.of(cell.place, cell.case)
    point = held or ceilings.of(cell.place, curve.at(cell.case.x))
    if point is None:
        held = ceilings.plateau(cell.place, own, cell.better)
        point = held or ceilings.plateau(cell.place, curve, cell.better)
    if point is not None:
        found.ceiling = _reference(point)
        found.ceiling_ns = apart(point)
        if held is not None and len(found.ceiling_ns) < 2 and found.value > 0:
            found.fraction = better_by(found.value, point.value, cell.better)
    found.differs = _differences(own, curve)
    if "mean" in cell.flags:
        found.differs.append(Difference(name=FIGURE, own="mean", study="median"))
    return found


def _told(cells: list[Cell]) -> Cell:
    """At the size that is told."""
    sized = [cell for cell in cells if cell.case.x > 0] or cells
    if cells[0].better == "higher":
        return max(sized, key=lambda cell: cell.case.x)
    return min(sized, key=lambda cell: (abs(cell.case.x - QUOTED_BYTES), cell.case.x))


def _reference(point: CeilingPoint) -> Reference:
    return Reference(
        value=point.value,
        ci95=point.ci95,
        range=point.range,
        x=point.case.x,
        method=point.method,
        kind=point.kind,
        lies_in=point.lies_in,
    )


def _differences(own: Curve, study: Curve) -> list[Difference]:
    found = [
        Difference(name=name, own=own.axes[name], study=value)
        for name, value in study.axes.items()
        if own.axes.get(name, value) != value
    ]
    if own.buffers != study.buffers:
        found.append(Difference(name=BUFFERS, own=own.buffers, study=study.buffers))
    return found
