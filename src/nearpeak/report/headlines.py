# SPDX-License-Identifier: Apache-2.0
"""What can be told of each path in a figure or two: every library at the same message size.

A time is that of 8 bytes, a rate that of the largest message, and so is a ratio of times. All are
held against the ceiling of that size, a rate also against the plateau: the best that the ceiling
reaches at any size.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from nearpeak.findings.evidence import bare
from nearpeak.identity import Case, Curve, Place, Who
from nearpeak.observations.model import Block
from nearpeak.report.summary import (
    contenders,
    curves,
    default_curves,
    first_sheet,
    no_mpi,
    places,
)
from nearpeak.results.best import best_point
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import FAILED, FEWEST
from nearpeak.results.model import CeilingPoint, Cell, Comparison, Results
from nearpeak.results.names import staged
from nearpeak.statistics import ranks
from nearpeak.statistics.comparisons import better_in
from nearpeak.statistics.intervals import Interval, interval, spanning
from nearpeak.statistics.verdicts import EQUIVALENT, TWO_MODES, UNDECIDED
from nearpeak.study.benchmarks import QUOTED_BYTES, Better
from nearpeak.study.model import staging

Judged = dict[tuple[frozenset[Who], Place, Case], Comparison]


@dataclass(frozen=True)
class Part:
    """A fraction of a ceiling, over the blocks that measured both."""

    value: float
    ci95: Interval | None
    range: Interval


@dataclass(frozen=True)
class Reached:
    """What a contender reaches; a cell without a number says why in its status."""

    cell: Cell
    of_plateau: Part | None  # of rates


@dataclass(frozen=True)
class Figure:
    """What is told of one curve at one place: its case, the same for all contenders."""

    case: Case
    unit: str
    better: Better
    ceiling: CeilingPoint | None  # of that case
    plateau: CeilingPoint | None  # of a rate: the best of its ceiling at any size
    first: tuple[Who, ...]  # who may be the first, several where tied; empty: nobody can tell


@dataclass(frozen=True)
class Row:
    """One contender, or what the benchmark staged for it, by figure."""

    who: Who
    staging: str | None
    reached: dict[str, Reached]

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
    like = {bare(curve) for curve in defaults}
    shown = [
        curve
        for curve in curves(results)
        if (curve in defaults if staging(curve.axes) is None else bare(curve) in like)
    ]
    kinds = list(dict.fromkeys(curve.buffers for curve in defaults))
    cells: dict[Place, dict[Curve, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in results.cells:
        cells[cell.place][cell.case.curve].append(cell)
    maker = _Maker(results)
    found = []
    for place in places(results):
        for buffers in kinds:
            here = {
                curve: cells[place][curve]
                for curve in shown
                if curve.buffers == buffers and curve in cells[place]
            }
            if here:
                title = f"{place.path} ({buffers})" if len(kinds) > 1 else place.path
                found.append(maker.group(place, buffers, title, here))
    return found


class _Maker:
    """Makes groups; knows what all of them need of the results."""

    def __init__(self, results: Results) -> None:
        self._known = contenders(results)
        self._native = {info.name for info in results.libraries if info.native}
        self._no_mpi = no_mpi(results)
        self._ceilings = Ceilings(results.ceilings)
        self._machine = results.machine
        self._paths = {path.place: path for path in results.paths}
        self._judged: Judged = {
            (frozenset({one.first, one.second}), one.place, one.case): one
            for one in results.comparisons
        }

    def group(
        self, place: Place, buffers: str, title: str, here: Mapping[Curve, list[Cell]]
    ) -> Group:
        """Of the cells of the curves that belong to it."""
        # Also those that reached nothing; what is no MPI library has its place on some paths alone.
        rows: dict[tuple[Who, str | None], Row] = {
            (who, None): Row(who, None, {})
            for who in self._known
            if who.library not in self._no_mpi
        }
        figures: dict[str, Figure] = {}
        names = dict.fromkeys(curve.figure for curve in here)
        for name in names:
            mine = {curve: cells for curve, cells in here.items() if curve.figure == name}
            chosen = _at_one_size([cell for cells in mine.values() for cell in cells])
            if not chosen:
                continue
            main = min(mine, key=lambda curve: staging(curve.axes) is not None)
            figure = figures[name] = self._figure(place, main, chosen)
            for cell in chosen:
                key = cell.who, staging(cell.case.axes)
                row = rows.setdefault(key, Row(*key, {}))
                row.reached[name] = Reached(cell, _part(cell, figure.plateau))
        ordered = sorted(rows.values(), key=lambda row: row.staging is not None)
        return Group(place, buffers, title, figures, ordered)

    def _figure(self, place: Place, curve: Curve, chosen: list[Cell]) -> Figure:
        case = curve.at(chosen[0].case.x)
        better = chosen[0].better
        plateau = best_point(self._ceilings.curve(place, curve)) if better == "higher" else None
        rivals = [
            cell
            for cell in chosen
            if staging(cell.case.axes) is None and cell.who.library not in self._native
        ]
        scores = _scores(rivals)
        return Figure(
            case=case,
            unit=chosen[0].unit,
            better=better,
            ceiling=self._ceilings.of(place, case),
            plateau=plateau,
            first=() if scores is None else self._first(rivals, scores),
        )

    def _first(self, rivals: list[Cell], scores: list[list[float]]) -> tuple[Who, ...]:
        """Who is first in nearly all resamples of the blocks, and those whom no verdict sets apart
        from it. Nobody where the session that is judged has too few blocks for a verdict."""
        leading = ranks.leaders(ranks.first_shares(scores))
        if not leading:
            return ()
        best = rivals[leading[0]]
        tied = [rivals[index].who for index in leading]
        for cell in (one for one in rivals if one.status not in FAILED):
            pair = frozenset({best.who, cell.who})
            judged = self._judged.get((pair, cell.place, cell.case))
            if judged is None:
                continue
            if judged.blocks < FEWEST:
                return ()
            if cell.who not in tied and judged.verdict in (UNDECIDED, EQUIVALENT, TWO_MODES):
                tied.append(cell.who)
        return tuple(tied)


def _at_one_size(cells: list[Cell]) -> list[Cell]:
    """The cells of one figure at the size that is told.

    All contenders were asked for it, and whoever has no figure there failed: a size that somebody
    left out for a reason is no size to compare at. Where there is none, the size that most have.
    """
    by_size: dict[int, list[Cell]] = defaultdict(list)
    for cell in [one for one in cells if one.case.x > 0] or cells:
        by_size[cell.case.x].append(cell)
    if not by_size:
        return []
    answered = {x: sum(map(_answers, found)) for x, found in by_size.items()}
    most = max(answered.values())
    usable = [
        x
        for x, found in by_size.items()
        if answered[x] == most and any(cell.median is not None for cell in found)
    ] or list(by_size)
    if cells[0].unit != "us":
        return by_size[max(usable)]
    return by_size[min(usable, key=lambda x: (abs(x - QUOTED_BYTES), x))]


def _answers(cell: Cell) -> bool:
    return cell.median is not None or cell.status in FAILED


def _part(cell: Cell, plateau: CeilingPoint | None) -> Part | None:
    if plateau is None:
        return None
    readings = [better_in(cell.by_block, one, cell.better) for one in plateau.readings]
    if not readings[0]:
        return None
    intervals = (
        interval(list(shares.values()), sessions=[block.session for block in shares], positive=True)
        for shares in readings
    )
    values = [value for shares in readings for value in shares.values()]
    return Part(
        float(np.median(list(readings[0].values()))),
        spanning(intervals),
        (min(values), max(values)),
    )


def _scores(rivals: list[Cell]) -> list[list[float]] | None:
    """What ranks are made of: contenders x blocks, above is better, -inf where one failed.

    None where there are not two of them, or fewer blocks than an interval needs.
    """
    if len(rivals) < 2:
        return None
    sound = [set(cell.blocks) for cell in rivals if cell.status not in FAILED]
    known = {block for cell in rivals for block in cell.blocks}
    common = sorted(set.intersection(*sound) if sound else known)
    if len(common) < FEWEST:
        return None
    return [_score(cell, common) for cell in rivals]


def _score(cell: Cell, blocks: Iterable[Block]) -> list[float]:
    sign = 1.0 if cell.better == "higher" else -1.0
    values = cell.by_block
    return [sign * math.log(values[b]) if values.get(b, 0.0) > 0 else -math.inf for b in blocks]
