# SPDX-License-Identifier: Apache-2.0
"""Figures of other tools compared with those of a study on the same path: the size at which both
are reported, and their differences."""

from collections.abc import Sequence

from nearpeak.grouping import grouped
from nearpeak.results.best import quoted_size, reference_of
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.order import guests
from nearpeak.results.reference import distance_ranges
from nearpeak.results.results import (
    Cell,
    Difference,
    Imported,
    Results,
)
from nearpeak.statistics.comparisons import SIGN, better_by
from nearpeak.terms.axes import staging
from nearpeak.terms.buffers import ceiling_buffers
from nearpeak.terms.identity import Curve, Place

BUFFERS, FIGURE = "buffers", "figure"  # what differs, besides axes
# One figure of a path, in the same memories, whatever the axes.
Figure = tuple[Place, str, str, str]


def find(results: Results, ceilings: Ceilings) -> list[Imported]:
    """One for each curve that was imported into a study, in the order of the cells.

    Times are reported at 8 bytes, rates at the largest size: of the sizes that a library of the
    study has too, else of all.
    """
    native = {info.name for info in results.libraries if info.native}
    imported = guests(results)
    cells = [cell for cell in results.cells if cell.median is not None]
    mine = [cell for cell in cells if cell.who.library in imported]
    direct = [cell for cell in cells if staging(cell.case.axes) is None]
    others = [cell for cell in direct if cell.who.library not in native | imported]
    theirs = grouped(others, lambda cell: _figure(cell.place, cell.case))
    curves = grouped(mine, lambda cell: (cell.who, cell.place, cell.case.curve))
    return [
        _beside(group, theirs.get(_figure(place, curve), []), ceilings)
        for (_, place, curve), group in curves.items()
    ]


def _figure(place: Place, curve: Curve) -> Figure:
    return place, curve.benchmark, curve.metric, ceiling_buffers(curve.buffers)


def _beside(cells: list[Cell], theirs: Sequence[Cell], ceilings: Ceilings) -> Imported:
    sizes = {other.case.x for other in theirs}
    cell = _at_reported_size([cell for cell in cells if cell.case.x in sizes] or cells)
    # Of the same curve, where the study has it; else of that which it measures first.
    imported_curve = cell.case.curve
    curves = [other.case.curve for other in theirs] or [imported_curve]
    curve = min(curves, key=lambda curve: curve != imported_curve)
    rivals = [other for other in theirs if other.case == curve.at(cell.case.x)]
    best = max(rivals, key=lambda o: SIGN[cell.better] * (o.median or 0.0), default=None)
    comparison = Imported(
        who=cell.who,
        place=cell.place,
        case=cell.case,
        unit=cell.unit,
        better=cell.better,
        value=cell.median or 0.0,
        library=best.who if best else None,
        library_value=best.median if best else None,
        differs=_differences(imported_curve, curve),
    )
    if "mean" in cell.flags:
        comparison.differs.append(Difference(name=FIGURE, own="mean", study="median"))
    # At this size, else at the best one; of its own curve, or else of that of the study.
    lookups = [
        ceilings.point(cell.place, cell.case),
        ceilings.point(cell.place, curve.at(cell.case.x)),
        ceilings.plateau(cell.place, imported_curve, cell.better),
        ceilings.plateau(cell.place, curve, cell.better),
    ]
    number, point = next(((n, p) for n, p in enumerate(lookups) if p is not None), (0, None))
    if point is not None:
        comparison.ceiling = reference_of(point)
        comparison.ceiling_ns = distance_ranges(point)
        same_curve = number % 2 == 0
        if same_curve and len(comparison.ceiling_ns) < 2 and comparison.value > 0:
            comparison.fraction = better_by(comparison.value, point.value, cell.better)
    return comparison


def _at_reported_size(cells: list[Cell]) -> Cell:
    """The cell at the size that is reported."""
    by_size = {cell.case.x: cell for cell in reversed(cells)}
    sizes = [x for x in by_size if x > 0] or [*by_size]
    return by_size[max(sizes) if cells[0].better == "higher" else quoted_size(sizes)]


def _differences(imported: Curve, study: Curve) -> list[Difference]:
    differences = [
        Difference(name=name, own=imported.axes[name], study=value)
        for name, value in study.axes.items()
        if imported.axes.get(name, value) != value
    ]
    if imported.buffers != study.buffers:
        differences.append(Difference(name=BUFFERS, own=imported.buffers, study=study.buffers))
    return differences
