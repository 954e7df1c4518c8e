# SPDX-License-Identifier: Apache-2.0
"""The least fraction of each family and place."""

from collections.abc import Iterator, Mapping

from nearpeak.grouping import grouped
from nearpeak.results.names import reference
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Cell, Furthest, Results, Share
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import with_ceilings


def find(results: Results) -> list[Furthest]:
    """The least share at the smallest and at the largest size, in families with benchmarks that
    have no measured ceiling. Libraries other than MPI stand beside it, or by themselves where no
    MPI is there. Imported libraries are left out, as their fractions are of another time. Fewer
    than 6 blocks give no entry: a few unlike launches would decide."""
    families = {benchmark.name: benchmark.family for benchmark in results.benchmarks}
    measured = with_ceilings(results.benchmarks)
    others = {family for name, family in families.items() if name not in measured}
    beside, imported = no_mpi(results), guests(results)
    mine = [cell for cell in results.cells if cell.who.library not in imported]
    groups = grouped(
        (cell for cell in mine if families[cell.case.benchmark] in others),
        lambda cell: (families[cell.case.benchmark], cell.place, cell.case.buffers),
    )
    return [
        furthest
        for (family, *_), group in groups.items()
        for furthest in _of_group(family, grouped(group, lambda c: c.who.library in beside))
    ]


def _of_group(family: str, cells: Mapping[bool, list[Cell]]) -> Iterator[Furthest]:
    """The entries of a group; `cells`: of libraries of MPI (False), and of others."""
    beside = cells.get(True, [])
    compared = [
        cell
        for cell in cells.get(False, beside)
        if cell.fraction is not None and _blocks(cell) >= FEWEST_FOR_INTERVAL
    ]
    every = sorted({cell.case.x for cell in compared})
    sizes = [x for x in every if x > 0] or every  # a barrier has no sizes
    for x in dict.fromkeys([*sizes[:1], *sizes[-1:]]):
        worst = min((cell for cell in compared if cell.case.x == x), key=_share)
        yield Furthest(
            family=family,
            who=worst.who,
            place=worst.place,
            case=worst.case,
            share=_share(worst),
            range=_range(worst),
            blocks=_blocks(worst),
            of="overlap" if worst.overlap is not None else reference(worst.ceiling),
            beside=[
                Share(who=cell.who, share=_share(cell))
                for cell in beside
                if cell.case == worst.case and cell is not worst and cell.fraction is not None
            ],
        )


def _share(cell: Cell) -> float:
    """The overlap, or the fraction of the reference."""
    return cell.overlap.hidden.value if cell.overlap is not None else cell.fraction or 0.0


def _range(cell: Cell) -> tuple[float, float]:
    share = _share(cell)
    return (cell.overlap.hidden.range if cell.overlap else cell.fraction_range) or (share, share)


def _blocks(cell: Cell) -> int:
    """The number of blocks that its share is of."""
    return cell.launches if cell.overlap is not None else cell.fraction_blocks
