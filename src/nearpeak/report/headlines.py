# SPDX-License-Identifier: Apache-2.0
"""The headlines of each path's default curves, with the figures of all contenders. The best one and
its size stand in the results (results/headlines.py)."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from nearpeak.grouping import grouped
from nearpeak.results import order
from nearpeak.results.names import bare, staged
from nearpeak.results.results import Cell, Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Case, Place, Who


@dataclass(frozen=True)
class Row:
    """One contender by figure, or the same with data that the benchmark staged."""

    who: Who
    staging: str | None
    reached: dict[str, Cell]  # a cell without a number has the reason in its status
    # Imported, or no MPI library: a missing cell was never to be measured.
    guest: bool = False

    @property
    def label(self) -> str:
        """`mpich`; `mpich, staged by the benchmark (pinned)`."""
        return (
            self.who.label if self.staging is None else f"{self.who.label}, {staged(self.staging)}"
        )


@dataclass(frozen=True)
class Group:
    """One path with one kind of buffers: a row group of Table 2."""

    place: Place
    buffers: str
    title: str  # the path, and its buffers where there are several kinds
    figures: dict[str, Headline]  # by name ("bw"), in the order of the tables
    rows: list[Row]  # of the libraries, then those with data that the benchmark staged


def groups(results: Results) -> list[Group]:
    """All paths with MPI cells, in the default curves of the first sheet."""
    headline_groups = order.headlines(results)
    several = len({group[0].case.buffers for group in headline_groups}) > 1
    cells = grouped(results.cells, lambda cell: cell.place)
    # MPI libraries have a row even without a figure; other contenders only on paths they ran on.
    beside = order.no_mpi(results) | order.guests(results)
    contenders = [who for who in order.contenders(results) if who.library not in beside]
    collected = []
    for group in headline_groups:
        place, buffers = group[0].place, group[0].case.buffers
        title = f"{place.path} ({buffers})" if several else place.path
        collected.append(_group(title, group, contenders, beside, cells.get(place, [])))
    return collected


def _group(
    title: str,
    headlines: list[Headline],
    contenders: Iterable[Who],
    guests: Collection[str],
    cells: Iterable[Cell],
) -> Group:
    """The group of one path and kind of buffers. `contenders` always have a row. `guests`:
    libraries that need not have all figures."""
    reached: dict[Case, list[Cell]] = defaultdict(list)
    for cell in cells:
        reached[bare(cell.case)].append(cell)
    rows: dict[tuple[Who, str | None], Row] = {
        (who, None): Row(who, None, {}) for who in contenders
    }
    for headline in headlines:
        case = headline.case
        for cell in reached[bare(case)]:
            key = cell.who, staging(cell.case.axes)
            rows.setdefault(key, Row(*key, {}, cell.who.library in guests)).reached[case.figure] = (
                cell
            )
    ordered = sorted(rows.values(), key=lambda row: row.staging is not None)
    figures = {headline.case.figure: headline for headline in headlines}
    return Group(headlines[0].place, headlines[0].case.buffers, title, figures, ordered)
