# SPDX-License-Identifier: Apache-2.0
"""What is shown first of each path: the headlines of its default curves, with all that were
measured there. Who is best, and at which size, stands in the results (results/headlines.py)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from nearpeak.report.summary import contenders, default_curves, first_sheet, no_mpi, places
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.names import bare, staged
from nearpeak.results.results import CeilingPoint, Cell, Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import Better
from nearpeak.terms.identity import Case, Place, Who


@dataclass(frozen=True)
class Figure:
    """What is told of one curve at one place: its case, the same for all contenders."""

    headline: Headline
    unit: str
    better: Better
    ceiling: CeilingPoint | None  # of that case
    plateau: CeilingPoint | None  # of a rate: the best of its ceiling at any size
    best: Cell | None  # of whoever is best

    @property
    def case(self) -> Case:
        """At which all are told."""
        return self.headline.case


@dataclass(frozen=True)
class Row:
    """One contender, or what the benchmark staged for it, by figure."""

    who: Who
    staging: str | None
    reached: dict[str, Cell]  # one without a number says why in its status

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
    figures: dict[str, Figure]  # by name ("bw"), in the order of the tables
    rows: list[Row]  # what the libraries reach, then where the benchmark staged the data itself


def groups(results: Results) -> list[Group]:
    """All paths with MPI cells, in the default curves of the first sheet."""
    first = set(first_sheet(results))
    defaults = [curve for curve in default_curves(results) if curve in first]
    kinds = list(dict.fromkeys(curve.buffers for curve in defaults))
    headlines = {(one.place, bare(one.case)): one for one in results.headlines}
    cells: dict[Place, list[Cell]] = defaultdict(list)
    for cell in results.cells:
        cells[cell.place].append(cell)
    ceilings = Ceilings(results.ceilings)
    # Also those that reached nothing; what is no MPI library has its place on some paths alone.
    beside = no_mpi(results)
    known = [who for who in contenders(results) if who.library not in beside]
    found = []
    for place in places(results):
        for buffers in kinds:
            mine = [
                headlines[place, bare(curve)]
                for curve in defaults
                if curve.buffers == buffers and (place, bare(curve)) in headlines
            ]
            if mine:
                title = f"{place.path} ({buffers})" if len(kinds) > 1 else place.path
                found.append(_group(title, mine, known, cells[place], ceilings))
    return found


def _group(
    title: str,
    headlines: list[Headline],
    known: Iterable[Who],
    cells: Iterable[Cell],
    ceilings: Ceilings,
) -> Group:
    """Of one path and kind of buffers. `known`: who has a row in any case."""
    told: dict[Case, list[Cell]] = defaultdict(list)
    for cell in cells:
        told[bare(cell.case).at(cell.case.x)].append(cell)
    rows: dict[tuple[Who, str | None], Row] = {(who, None): Row(who, None, {}) for who in known}
    figures: dict[str, Figure] = {}
    for headline in headlines:
        case = headline.case
        reached = told[bare(case).at(case.x)]
        figures[case.figure] = _figure(headline, reached, ceilings)
        for cell in reached:
            key = cell.who, staging(cell.case.axes)
            rows.setdefault(key, Row(*key, {})).reached[case.figure] = cell
    ordered = sorted(rows.values(), key=lambda row: row.staging is not None)
    return Group(headlines[0].place, headlines[0].case.buffers, title, figures, ordered)


def _figure(headline: Headline, reached: list[Cell], ceilings: Ceilings) -> Figure:
    place, case = headline.place, headline.case
    unit, better = reached[0].unit, reached[0].better
    unstaged = [cell for cell in reached if staging(cell.case.axes) is None]
    return Figure(
        headline=headline,
        unit=unit,
        better=better,
        ceiling=ceilings.of(place, case),
        plateau=ceilings.plateau(place, case.curve, better),
        best=next((cell for cell in unstaged if cell.who == headline.best), None),
    )
