# SPDX-License-Identifier: Apache-2.0
"""Of each family and place, what stays furthest from what it is held against."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.results.names import reference
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Cell, Furthest, Results, Share
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import by_name
from nearpeak.terms.identity import Place


def find(results: Results) -> list[Furthest]:
    """At the smallest size and at the largest, in the families that have more than what is held
    against a measured ceiling. What is no MPI is told beside it, or alone where no MPI is there;
    what was imported beside a study is left out, as its fractions are of another time. Of fewer
    than 6 blocks nothing is told: launches that are unlike would decide."""
    known = by_name(results.benchmarks)
    others = {each.family for each in results.benchmarks if each.ceiling != "measured"}
    beside, imported = no_mpi(results), guests(results)
    groups: dict[tuple[str, Place, str], list[Cell]] = defaultdict(list)
    for cell in results.cells:
        family = known[cell.case.benchmark].family
        if family in others and cell.who.library not in imported:
            groups[family, cell.place, cell.case.buffers].append(cell)
    found: list[Furthest] = []
    for (family, *_), here in groups.items():
        libraries = [cell for cell in here if cell.who.library not in beside]
        found += _of_group(family, libraries or here, [c for c in here if c.who.library in beside])
    return found


def _of_group(family: str, cells: list[Cell], beside: list[Cell]) -> Iterator[Furthest]:
    held = [
        cell for cell in cells if cell.fraction is not None and _blocks(cell) >= FEWEST_FOR_INTERVAL
    ]
    every = sorted({cell.case.x for cell in held})
    there = [x for x in every if x > 0] or every  # a barrier alone has no sizes
    for x in dict.fromkeys((there[0], there[-1]) if there else ()):
        worst = min((cell for cell in held if cell.case.x == x), key=_share)
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
    """The overlap, or the fraction of what it is held against."""
    return cell.overlap.hidden.value if cell.overlap is not None else cell.fraction or 0.0


def _range(cell: Cell) -> tuple[float, float]:
    share = _share(cell)
    return (cell.overlap.hidden.range if cell.overlap else cell.fraction_range) or (share, share)


def _blocks(cell: Cell) -> int:
    """That its share is of."""
    return cell.launches if cell.overlap is not None else cell.fraction_blocks
