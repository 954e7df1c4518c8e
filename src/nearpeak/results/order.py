# SPDX-License-Identifier: Apache-2.0
"""The order in which results are reported, and the ones reported first."""

from collections.abc import Callable
from itertools import product

from nearpeak.grouping import firsts, grouped, present
from nearpeak.results.names import bare
from nearpeak.results.results import Cell, Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import with_ceilings
from nearpeak.terms.identity import CEILING, Curve, Place, Who


def contenders(results: Results) -> list[Who]:
    """All libraries that were to be measured, also those that only failed."""
    everyone = [Who(info.name, given.name) for info in results.libraries for given in info.settings]
    everyone += [cell.who for cell in results.cells]
    everyone += [failed.who for failed in results.failures if failed.who != CEILING]
    return list(dict.fromkeys(everyone))


def no_mpi(results: Results) -> set[str]:
    """The names of libraries other than MPI: NCCL, RCCL, the ceilings."""
    return {info.name for info in results.libraries if not info.mpi}


def guests(results: Results) -> set[str]:
    """The names of libraries that were imported into a study; none where all were imported."""
    measured = any(not info.imported for info in results.libraries)
    return {info.name for info in results.libraries if measured and info.imported}


def places(results: Results) -> list[Place]:
    """All places, those with MPI cells first."""
    measured = [cell.place for cell in results.cells]
    described = [path.place for path in results.paths]
    others = [point.place for point in results.ceilings]
    with_cells = set(measured)
    unique = dict.fromkeys(described + measured + others)
    return sorted(unique, key=lambda place: place not in with_cells)


def curves(results: Results) -> list[Curve]:
    """All curves of MPI; the first one of a figure and its buffers is the default one.

    Results keep the order of the plan, which puts each benchmark's default axes first.
    """
    unique = dict.fromkeys(cell.case.curve for cell in results.cells)
    return sorted(unique, key=ranking(results))


def first_sheet(results: Results) -> list[Curve]:
    """The curves of the first tables and of the charts of each path: those compared with a measured
    ceiling; of a study without any, all of them. Families have the others."""
    with_ceiling = with_ceilings(results.benchmarks)
    ordered = curves(results)
    return [curve for curve in ordered if curve.benchmark in with_ceiling] or ordered


def figures(results: Results) -> list[str]:
    """The figures of MPI in the first tables, in their order."""
    return list(dict.fromkeys(curve.figure for curve in first_sheet(results)))


def ranking(results: Results) -> Callable[[Curve], int]:
    """The key of a curve's position in tables; curves that no benchmark measures come last."""
    ordered = sorted(results.benchmarks, key=lambda benchmark: benchmark.place)
    figures = [
        (benchmark.name, metric.name) for benchmark in ordered for metric in benchmark.metrics
    ]
    order = {figure: number for number, figure in enumerate(dict.fromkeys(figures))}
    return lambda curve: order.get((curve.benchmark, curve.metric), len(order))


def default_curves(results: Results) -> list[Curve]:
    """The default curve of each figure and buffers; one that stages only where no other is.
    Curves that were only imported are left out."""
    ordered, imported = curves(results), guests(results)
    measured = {cell.case.curve for cell in results.cells if cell.who.library not in imported}
    direct_first = sorted(measured, key=lambda c: (staging(c.axes) is not None, ordered.index(c)))
    first = firsts(direct_first, lambda curve: (curve.figure, curve.buffers))
    return sorted(first.values(), key=ordered.index)


def headlines(results: Results) -> list[list[Headline]]:
    """The headlines that are reported first: of each path with one kind of buffers those of the
    default curves of the first sheet."""
    first = set(first_sheet(results))
    defaults = [curve for curve in default_curves(results) if curve in first]
    reported = {
        (headline.place, bare(headline.case.curve)): headline for headline in results.headlines
    }
    kinds = grouped(map(bare, defaults), lambda curve: curve.buffers)
    pairs = product(places(results), kinds.values())
    groups = []
    for place, kind in pairs:
        groups.append(present(reported.get((place, curve)) for curve in kind))
    return [*filter(None, groups)]


def of_headlines(results: Results) -> list[Cell]:
    """The cells of the cases that `headlines` reports, however the data was staged."""
    cases = {
        (headline.place, bare(headline.case)) for group in headlines(results) for headline in group
    }
    return [cell for cell in results.cells if (cell.place, bare(cell.case)) in cases]


def is_left_out(cell: Cell, results: Results) -> bool:
    """True if no more of it was measured, so that the rest fits the budget."""
    path, case = cell.place.path, cell.case
    library = cell.who.label
    return any(left.holds(path, case.benchmark, case.axes, library) for left in results.left_out)
