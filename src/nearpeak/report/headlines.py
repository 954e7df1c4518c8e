# SPDX-License-Identifier: Apache-2.0
"""What is shown first of each path: the headlines of its default curves, with all that were
measured there. Who is best, and at which size, stands in the results (results/headlines.py)."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from nearpeak.results import order
from nearpeak.results.names import bare, staged
from nearpeak.results.results import Cell, Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Case, Place, Who


@dataclass(frozen=True)
class Row:
    """One contender, or what the benchmark staged for it, by figure."""

    who: Who
    staging: str | None
    reached: dict[str, Cell]  # one without a number says why in its status
    # Imported, or no MPI: what it has no cell of, nobody asked of it.
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
    rows: list[Row]  # what the libraries reach, then where the benchmark staged the data itself


def groups(results: Results) -> list[Group]:
    """All paths with MPI cells, in the default curves of the first sheet."""
    told = order.headlines(results)
    several = len({group[0].case.buffers for group in told}) > 1
    cells: dict[Place, list[Cell]] = defaultdict(list)
    for cell in results.cells:
        cells[cell.place].append(cell)
    # Also those that reached nothing; what is no MPI library has its place on some paths alone.
    beside = order.no_mpi(results) | order.guests(results)
    known = [who for who in order.contenders(results) if who.library not in beside]
    found = []
    for group in told:
        place, buffers = group[0].place, group[0].case.buffers
        title = f"{place.path} ({buffers})" if several else place.path
        found.append(_group(title, group, known, beside, cells[place]))
    return found


def _group(
    title: str,
    headlines: list[Headline],
    known: Iterable[Who],
    guests: Collection[str],
    cells: Iterable[Cell],
) -> Group:
    """Of one path and kind of buffers. `known`: who has a row in any case. `guests`: libraries that
    need not have all figures."""
    reached: dict[Case, list[Cell]] = defaultdict(list)
    for cell in cells:
        reached[bare(cell.case)].append(cell)
    rows: dict[tuple[Who, str | None], Row] = {(who, None): Row(who, None, {}) for who in known}
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
