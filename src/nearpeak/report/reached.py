# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a study without messages: how near its applications come to their
rooflines and its operations to their bounds, and where libraries differ most."""

import math
from collections.abc import Iterable, Iterator, Sequence

from nearpeak.grouping import grouped
from nearpeak.numbers import number, percent, size
from nearpeak.report.lines import FEW
from nearpeak.results import order
from nearpeak.results.cells import is_defect
from nearpeak.results.names import case
from nearpeak.results.results import Application, Cell, Comparison, Estimated, Results


def sentences(results: Results) -> str:
    """`On host1, jacobi2d reaches 61.0 to 66.7 % of its roofline, the most with openmpi+layer.`;
    empty without such figures."""
    shares, confirmed = _shares(results)
    parts = []
    if shares:
        begin = "On" if confirmed else f"{FEW}: on"
        parts.append(f"{begin} {results.machine.hostname}, {shares}.")
    parts += map(_difference, _largest(results))
    return " ".join(parts)


def _shares(results: Results) -> tuple[str, bool]:
    """The shares of rooflines, else of bounds, and whether they have intervals."""
    rooflines = [
        (application, application.roofline.fraction)
        for application in results.applications
        if application.roofline and application.cell.median is not None
    ]
    if rooflines:
        by_name = grouped(rooflines, lambda pair: pair[0].cell.case.benchmark)
        text = "; ".join(_roofline(name, pairs) for name, pairs in by_name.items())
        return text, all(fraction.ci95 for _, fraction in rooflines)
    cells = _compared(results)
    return _bounds(cells), bool(cells) and all(cell.fraction_ci95 for cell in cells)


def furthest(results: Results) -> Cell | None:
    """The operation that the sentence names as the furthest from its bound."""
    return None if results.applications else next(iter(_compared(results)), None)


def _compared(results: Results) -> list[Cell]:
    """The best cell of each operation, of those that are confirmed if any is, the worst first."""
    cells = sorted(_bounded(results), key=lambda cell: cell.fraction or 0.0)
    return [cell for cell in cells if cell.fraction_ci95] or cells


def _roofline(name: str, pairs: Iterable[tuple[Application, Estimated]]) -> str:
    ordered = sorted(pairs, key=lambda pair: pair[1].value)
    least, most = (percent(fraction.value) for _, fraction in (ordered[0], ordered[-1]))
    reached = least if least == most else f"{least} to {most}"
    owners = {application.cell.who.label for application, _ in ordered}
    best = ordered[-1][0].cell.who.label
    whose = f"the most with {best}" if len(owners) > 1 else f"with {best}"
    return f"{name} reaches {reached} % of its roofline, {whose}"


def _bounded(results: Results) -> Iterator[Cell]:
    """Yields, of each operation and size with a bound, the MPI library that comes nearest."""
    beside = order.no_mpi(results) | order.guests(results)
    cells = [
        cell
        for cell in results.cells
        if cell.fraction is not None and cell.ceiling and cell.ceiling.kind == "bound"
        if cell.who.library not in beside and not is_defect(cell)
    ]
    for group in grouped(cells, lambda cell: (cell.place, cell.case)).values():
        yield max(group, key=lambda cell: cell.fraction or 0.0)


def _bounds(ordered: Sequence[Cell]) -> str:
    """`the best MPI library reaches from 0.0141 % of the bound in hindexed at 1 MiB (mpich) to
    82.3 % in put_latency at 8 B (intel)`."""
    if not ordered:
        return ""
    several = len({cell.place for cell in ordered}) > 1
    ends = dict.fromkeys(_bound(cell, several) for cell in (ordered[0], ordered[-1]))
    text = " to ".join(ends).replace(" % in ", " % of the bound in ", 1)
    return f"the best MPI library reaches {'from ' if len(ends) > 1 else ''}{text}"


def _bound(cell: Cell, several: bool) -> str:
    """`8.19 % in allreduce at 8 B (mpich)`; of `several` paths, with its own."""
    at_size = f" at {size(cell.case.x)}" if cell.case.x else ""
    where = f" on {cell.place.path}" if several else ""
    return f"{percent(cell.fraction)} % in {cell.case.figure}{at_size}{where} ({cell.who.label})"


def _largest(results: Results) -> list[Comparison]:
    """The confirmed difference between two libraries that is the largest; none if there is none."""
    messages = {cell.case for cell in results.cells}
    confirmed = [
        row
        for row in results.comparisons
        if row.verdict in ("faster", "slower") and row.case in messages
    ]
    return sorted(confirmed, key=lambda row: -abs(math.log(row.ratio)))[:1]


def _difference(row: Comparison) -> str:
    """`Largest confirmed difference: bcast D,D at 8 B, mpich 3.63x as fast as intel.`"""
    better, worse = (row.second, row.first) if row.ratio > 1 else (row.first, row.second)
    times = number(max(row.ratio, 1 / row.ratio))
    at_size = f" at {size(row.case.x)}" if row.case.x else ""
    return (
        f"Largest confirmed difference: {case(row.case)}{at_size}, {better.label} {times}x as fast"
        f" as {worse.label}."
    )
