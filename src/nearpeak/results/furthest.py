# SPDX-License-Identifier: Apache-2.0
"""The least fraction of each family and place."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.results.names import reference
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Cell, Furthest, Results, Share
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import by_name
from nearpeak.terms.identity import Place


def find(results: Results) -> list[Furthest]:
    """The least share at the smallest and at the largest size, in families with benchmarks that
    have no measured ceiling. Libraries other than MPI stand beside it, or by themselves where no
    MPI is there. Imported libraries are left out, as their fractions are of another time. Fewer
    than 6 blocks give no entry: a few unlike launches would decide."""
    benchmarks = by_name(results.benchmarks)
    others = {
        benchmark.family for benchmark in results.benchmarks if benchmark.ceiling != "measured"
    }
    beside, imported = no_mpi(results), guests(results)
    groups: dict[tuple[str, Place, str], list[Cell]] = defaultdict(list)
    for cell in results.cells:
        family = benchmarks[cell.case.benchmark].family
        if family in others and cell.who.library not in imported:
            groups[family, cell.place, cell.case.buffers].append(cell)
    furthest: list[Furthest] = []
    for (family, *_), group in groups.items():
        libraries = [cell for cell in group if cell.who.library not in beside]
        furthest += _of_group(
            family, libraries or group, [c for c in group if c.who.library in beside]
        )
    return furthest


def _of_group(family: str, cells: list[Cell], beside: list[Cell]) -> Iterator[Furthest]:
    compared = [
        cell for cell in cells if cell.fraction is not None and _blocks(cell) >= FEWEST_FOR_INTERVAL
    ]
    every = sorted({cell.case.x for cell in compared})
    sizes = [x for x in every if x > 0] or every  # a barrier has no sizes
    for x in dict.fromkeys((sizes[0], sizes[-1]) if sizes else ()):
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
