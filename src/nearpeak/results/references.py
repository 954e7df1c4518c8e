# SPDX-License-Identifier: Apache-2.0
"""The best of NCCL or RCCL at each collective operation, which MPI libraries are compared with."""

from collections.abc import Iterable, Iterator, Sequence

from nearpeak.grouping import grouped
from nearpeak.results.blocks import estimated
from nearpeak.results.order import guests
from nearpeak.results.results import (
    AgainstReference,
    Cell,
    OperationReference,
    OperationVariant,
    Results,
)
from nearpeak.terms.axes import AT_ONCE, CALLS, staging
from nearpeak.terms.identity import Case, Who

# Axes that choose how a library does an operation, and not what it does.
WAYS = ("calls", "register")


def find(results: Results) -> list[OperationReference]:
    """One for each path, operation and size of a GPU communication library, in the order of the
    cells. Imported figures are left out, as they are of another time."""
    imported = guests(results)
    libraries = {info.name: info for info in results.libraries if info.name not in imported}
    gpu = {info.name for info in libraries.values() if not (info.mpi or info.native)}
    mpi = {info.name for info in libraries.values() if info.mpi}
    collective = {info.name for info in results.benchmarks if info.traffic is not None}
    cells = [
        cell
        for cell in results.cells
        if cell.case.benchmark in collective
        if cell.median and cell.unit == "us" and staging(cell.case.axes) is None
    ]
    operations = grouped(cells, lambda cell: (cell.place, _without_way(cell.case)))
    return [
        _reference(who, ways, [cell for cell in alike if cell.who.library in mpi])
        for alike in operations.values()
        for who, ways in _by_who(cell for cell in alike if cell.who.library in gpu)
    ]


def _without_way(case: Case) -> tuple[str, str, str, int, tuple[tuple[str, str], ...]]:
    other = tuple((name, value) for name, value in case.axes.items() if name not in WAYS)
    return case.benchmark, case.metric, case.buffers, case.x, other


def _by_who(cells: Iterable[Cell]) -> Iterator[tuple[Who, list[Cell]]]:
    """The cells of each library, the fastest first. Operations that run at the same time come last:
    their time is not that of one of them."""
    for who, mine in grouped(cells, lambda cell: cell.who).items():
        yield who, sorted(mine, key=_at_once_and_time)


def _at_once_and_time(cell: Cell) -> tuple[bool, float]:
    return cell.case.axes.get(CALLS) == AT_ONCE, cell.median or 0.0


def _reference(who: Who, ways: Sequence[Cell], mpi: Sequence[Cell]) -> OperationReference:
    best = ways[0]
    fastest = [mine[0] for _, mine in _by_who(mpi)]
    return OperationReference(
        who=who,
        place=best.place,
        variants=[
            OperationVariant(
                case=cell.case,
                value=cell.median or 0.0,
                ci95=cell.ci95,
                operations=cell.operations,
            )
            for cell in ways
        ],
        libraries=[
            _against(cell, best) for cell in sorted(fastest, key=lambda cell: cell.median or 0.0)
        ],
    )


def _against(cell: Cell, best: Cell) -> AgainstReference:
    theirs = best.by_block
    ratios = {
        block: value / theirs[block] for block, value in cell.by_block.items() if block in theirs
    }
    return AgainstReference(
        who=cell.who,
        case=cell.case,
        value=cell.median or 0.0,
        ratio=estimated(ratios) if ratios else None,
        blocks=len(ratios),
    )
