# SPDX-License-Identifier: Apache-2.0
"""The least fraction of each family and place."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

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


class _Reached(NamedTuple):
    """The part of its reference that a cell reaches."""

    share: float
    range: tuple[float, float]
    blocks: int  # that the share is of
    of: Literal["overlap", "ceiling", "bound"]


def _reached(cell: Cell) -> _Reached:
    """The overlap, or the fraction of the reference."""
    if cell.overlap is not None:
        hidden = cell.overlap.hidden
        return _Reached(hidden.value, hidden.range, cell.launches, "overlap")
    share = cell.fraction or 0.0
    span = cell.fraction_range or (share, share)
    return _Reached(share, span, cell.fraction_blocks, reference(cell.ceiling))


def _of_group(family: str, cells: Mapping[bool, list[Cell]]) -> Iterator[Furthest]:
    """The entries of a group; `cells`: of libraries of MPI (False), and of others."""
    beside = cells.get(True, [])
    compared = [
        (_reached(cell), cell)
        for cell in cells.get(False, beside)
        if cell.fraction is not None and _reached(cell).blocks >= FEWEST_FOR_INTERVAL
    ]
    by_size = grouped(compared, lambda pair: pair[1].case.x)
    sizes = sorted(filter(None, by_size)) or [*by_size]  # a barrier has no sizes
    for x in dict.fromkeys([*sizes[:1], *sizes[-1:]]):
        reached, worst = min(by_size[x], key=lambda pair: pair[0].share)
        others = [cell for cell in beside if cell.case == worst.case and cell is not worst]
        yield Furthest(
            family=family,
            who=worst.who,
            place=worst.place,
            case=worst.case,
            share=reached.share,
            range=reached.range,
            blocks=reached.blocks,
            of=reached.of,
            beside=[
                Share(who=cell.who, share=_reached(cell).share)
                for cell in others
                if cell.fraction is not None
            ],
        )
