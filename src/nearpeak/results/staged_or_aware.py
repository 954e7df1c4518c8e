# SPDX-License-Identifier: Apache-2.0
"""The message size from which a library moves device buffers faster than an application that copies
them through host memory itself."""

from collections.abc import Iterable, Iterator, Sequence

from nearpeak.grouping import collected, grouped
from nearpeak.results.blocks import estimated
from nearpeak.results.names import bare
from nearpeak.results.results import AwareAgainstStaged, Cell, StagedOrAware
from nearpeak.statistics.comparisons import better_in
from nearpeak.terms.axes import staging


def find(cells: Sequence[Cell]) -> list[StagedOrAware]:
    """Compares each curve of device buffers with the fastest copies that the benchmark made: by the
    same library where it was measured so, else by another."""
    measured = [cell for cell in cells if cell.by_block]
    copied = [cell for cell in measured if staging(cell.case.axes) is not None]
    by_case = grouped(copied, lambda cell: (cell.place, bare(cell.case), cell.window))
    compared = collected(
        ((aware.who, aware.place, bare(aware.case.curve)), point)
        for aware in measured
        if staging(aware.case.axes) is None
        and (others := by_case.get((aware.place, bare(aware.case), aware.window)))
        and (point := _against(aware, _fastest(aware, others)))
    )
    return [
        StagedOrAware(
            who=who,
            place=place,
            curve=curve,
            aware_from=_aware_from(points),
            sizes=sorted(points, key=lambda point: point.x),
        )
        for (who, place, curve), points in compared.items()
    ]


def _fastest(aware: Cell, copied: Iterable[Cell]) -> Cell:
    """The best of the copies that the same library carried; of all, where it carried none."""
    copies = list(copied)
    by_same_library = [cell for cell in copies if cell.who == aware.who]
    pick = min if aware.better == "lower" else max
    return pick(by_same_library or copies, key=lambda cell: estimated(cell.by_block).value)


def _against(aware: Cell, copied: Cell) -> AwareAgainstStaged | None:
    """Both in the blocks that measured both."""
    ratios = better_in(aware.by_block, copied.by_block, aware.better)
    if not ratios:
        return None
    return AwareAgainstStaged(
        x=aware.case.x,
        faster=estimated(ratios),
        blocks=len(ratios),
        carrier=copied.who,
        staging=str(staging(copied.case.axes)),
    )


def _aware_from(points: Iterable[AwareAgainstStaged]) -> int | None:
    """The smallest of the largest sizes in a row at which device buffers are faster."""
    return min(_faster_at_the_end(points), default=None)


def _faster_at_the_end(points: Iterable[AwareAgainstStaged]) -> Iterator[int]:
    for point in sorted(points, key=lambda point: -point.x):
        if not point.is_faster:
            return
        yield point.x
