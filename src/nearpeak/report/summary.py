# SPDX-License-Identifier: Apache-2.0
"""What the terminal, the page and the exports all show, selected from `Results` and in order.

How it is said stands in wording.py, what is told of each path in headlines.py.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

from nearpeak.results.best import best_point
from nearpeak.results.cells import is_defect
from nearpeak.results.results import CeilingPoint, Cell, CurveComparison, Flag, Results
from nearpeak.statistics.verdicts import (
    EQUIVALENT,
    FASTER,
    SLOWER,
    TWO_MODES,
    UNDECIDED,
    Word,
)
from nearpeak.terms.axes import staging
from nearpeak.terms.buffers import on_host
from nearpeak.terms.identity import CEILING, Curve, Place, Who
from nearpeak.terms.subjects import one_way

HEALTHY = 0.8  # of the theoretical rate: below, a link or a memory is worth a look,
JUDGED_FROM = 64 << 20  # bytes of a message: of smaller ones, a fast link or memory carries less
VERDICTS: tuple[Word, ...] = (FASTER, SLOWER, EQUIVALENT, UNDECIDED, TWO_MODES)
FLAGS: dict[Flag, str] = {  # of cells: what each says
    "few launches": "fewer than 6 launches: a range instead of an interval",
    "imprecise": "the interval, or the range of few launches, is wider than the aim",
    "few samples": "a launch took fewer samples than were asked for",
    "bimodal": "the launch medians fall into two groups",
    "held down": "a launch ran on hot or slowed hardware, or a hypervisor took its CPU time",
    "drift": "a launch ran while the path changed",
    "fewer blocks": "some blocks have no ceiling: the fraction rests on fewer than the median",
    "above ceiling": "a fraction above 1.03: a defect of the ceiling, unless its interval has 1",
}


@dataclass(frozen=True)
class TheoryRow:
    """One row of Table 1: the best that a path carries without MPI."""

    best: CeilingPoint
    theoretical_gbs: float | None
    largest: int  # bytes of the largest message that was measured
    one_way: bool  # whether the theoretical rate is of the same kind
    suspect: bool = False  # large messages, and even the best of its direction is below HEALTHY

    @property
    def fraction(self) -> float | None:
        """Of the theoretical unidirectional rate."""
        return self.best.of_theoretical

    @property
    def place(self) -> Place:
        """Where it was measured."""
        return self.best.place

    @property
    def convention(self) -> str:
        """How the theoretical rate counts where that could be taken otherwise."""
        if self.place.shared:
            return "half of the memory's rate, as each byte of payload is read and written once"
        return ""


@dataclass(frozen=True)
class VerdictRow:
    """Two alternatives in one curve: judged as a whole, and the verdicts of its cases counted."""

    whole: CurveComparison
    counts: dict[Word, int]


def contenders(results: Results) -> list[Who]:
    """All who were to be measured, also those of which nothing but failures is known."""
    found = [Who(info.name, given.name) for info in results.libraries for given in info.settings]
    found += [cell.who for cell in results.cells]
    found += [failed.who for failed in results.failures if failed.who != CEILING]
    return list(dict.fromkeys(found))


def no_mpi(results: Results) -> set[str]:
    """The names of what is no MPI and is measured beside it: NCCL, RCCL, the ceilings."""
    return {info.name for info in results.libraries if not info.mpi}


def places(results: Results) -> list[Place]:
    """All places, those with MPI cells first."""
    measured = [cell.place for cell in results.cells]
    described = [path.place for path in results.paths]
    others = [point.place for point in results.ceilings]
    with_cells = set(measured)
    found = dict.fromkeys(described + measured + others)
    return sorted(found, key=lambda place: place not in with_cells)


def curves(results: Results) -> list[Curve]:
    """All curves of MPI; the first one of a figure and its buffers is the default one.

    Results keep the order of the plan, which puts each benchmark's default axes first.
    """
    found = dict.fromkeys(cell.case.curve for cell in results.cells)
    return sorted(found, key=ranking(results))


def first_sheet(results: Results) -> list[Curve]:
    """The curves of the first tables and of the charts of each path: those that are held against a
    measured ceiling; of a study without any, all of them. Families have the others."""
    held = {one.name for one in results.benchmarks if one.ceiling == "measured"}
    found = curves(results)
    return [curve for curve in found if curve.benchmark in held] or found


def figures(results: Results) -> list[str]:
    """What the first tables tell of MPI, in their order."""
    return list(dict.fromkeys(curve.figure for curve in first_sheet(results)))


def ranking(results: Results) -> Callable[[Curve], int]:
    """Says where a curve stands in tables; what no benchmark measures comes last."""
    order: dict[tuple[str, str], int] = {}
    for benchmark in sorted(results.benchmarks, key=lambda one: one.place):
        for metric in benchmark.metrics:
            order.setdefault((benchmark.name, metric.name), len(order))
    return lambda curve: order.get((curve.benchmark, curve.metric), len(order))


def default_curves(results: Results) -> list[Curve]:
    """The default curve of each figure and buffers; one that stages only where no other is."""
    found = curves(results)
    first: dict[tuple[str, str], Curve] = {}
    for curve in sorted(found, key=lambda curve: staging(curve.axes) is not None):
        first.setdefault((curve.figure, curve.buffers), curve)
    return sorted(first.values(), key=found.index)


def defects(results: Results) -> list[Cell]:
    """The cells that lie above their ceiling, worst first."""
    return sorted(filter(is_defect, results.cells), key=lambda cell: -(cell.fraction or 0.0))


def table_one(results: Results) -> list[TheoryRow]:
    """Per path and curve: the best of the measured ceiling, and its part of the theoretical."""
    paths = {path.place: path for path in results.paths}
    points: dict[tuple[Place, Curve], list[CeilingPoint]] = defaultdict(list)
    for point in results.ceilings:
        if point.kind == "measured":
            points[point.place, point.case.curve].append(point)
    order = {place: number for number, place in enumerate(places(results))}
    rank, comparable = ranking(results), one_way(results.benchmarks)
    rows = []
    for place, curve in sorted(points, key=lambda key: (order[key[0]], rank(key[1]))):
        best = best_point(points[place, curve])
        assert best is not None  # a curve has at least the point that made it
        path, beside = paths.get(place), comparable(curve)
        known = path.theoretical_gbs if path else None
        largest = max(point.case.x for point in points[place, curve])
        rows.append(TheoryRow(best, known, largest, beside))
    return _judged(rows)


def _judged(rows: list[TheoryRow]) -> list[TheoryRow]:
    """The same, with the rows that are worth a look marked.

    Pageable memory or rotating buffers may well be slow on a sound link: only the best of each
    direction of a path speaks of its health.
    """
    best: dict[tuple[Place, tuple[bool, ...]], tuple[float, int]] = {}
    for number_, row in enumerate(rows):
        buffers = row.best.case.buffers
        managed = "M" in buffers  # such memory moves
        if row.fraction is not None and row.largest >= JUDGED_FROM and not managed:
            where = (row.place, on_host(buffers))
            best[where] = max(best.get(where, (0.0, 0)), (row.fraction, -number_))
    suspects = {-number_ for fraction, number_ in best.values() if fraction < HEALTHY}
    return [replace(row, suspect=number_ in suspects) for number_, row in enumerate(rows)]


def flags(results: Results) -> list[tuple[Flag, str]]:
    """The flags that some cell has, and what each says."""
    raised = {flag for cell in results.cells for flag in cell.flags}
    return [(flag, words) for flag, words in FLAGS.items() if flag in raised]


def verdict_rows(results: Results) -> list[VerdictRow]:
    """The curves that were compared, in the order of the tables."""
    counts: dict[tuple[Who, Who, Place, Curve], Counter[Word]] = defaultdict(Counter)
    for item in results.comparisons:
        counts[item.first, item.second, item.place, item.case.curve][item.verdict] += 1
    order = {place: number for number, place in enumerate(places(results))}
    rank = ranking(results)
    rows = []
    for whole in sorted(results.curves, key=lambda one: (order[one.place], rank(one.curve))):
        found = counts[whole.first, whole.second, whole.place, whole.curve]
        rows.append(VerdictRow(whole, {word: found[word] for word in VERDICTS}))
    return rows
