# SPDX-License-Identifier: Apache-2.0
"""What the terminal, the page and the exports all show: the tables, headlines and verdicts.

Everything here is taken from `Results`; nothing is measured or judged again.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import geometric_mean, median
from typing import TypeVar

from nearpeak.findings.evidence import bare
from nearpeak.identity import CEILING, Case, Curve, Place, Who
from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import is_defect
from nearpeak.results.model import CeilingPoint, Cell, CurveComparison, Finding, Results
from nearpeak.results.names import case, staged
from nearpeak.statistics.comparisons import better_by
from nearpeak.statistics.intervals import goal
from nearpeak.study.buffers import needs_gpu, on_host
from nearpeak.study.model import staging

T = TypeVar("T", Cell, CeilingPoint)
HEALTHY = 0.8  # of the theoretical rate: below, a link or a memory is worth a look,
JUDGED_FROM = 64 << 20  # bytes of a message: of smaller ones, a fast link or memory carries less
VERDICTS = ("faster", "slower", "equivalent", "undecided")
FLAGS = {  # of cells: what each says
    "few launches": "fewer than 6, so that there is a range and no interval",
    "imprecise": "the interval is wider than the aim",
    "few samples": "a launch took fewer samples than were asked for",
    "bimodal": "the launch medians fall into two groups",
    "held down": "a launch ran on hot or slowed hardware, or a hypervisor took its CPU time",
    "drift": "a launch ran while the path changed",
    "fewer blocks": "the fraction rests on fewer blocks than the median: some lack the ceiling",
    "above ceiling": "a fraction above 1.03: a defect of the ceiling, unless its interval holds 1",
}


@dataclass(frozen=True)
class Best:
    """A contender's best cell of one figure at one place."""

    cell: Cell
    of_peak: float | None  # of the best value that the path's ceiling reaches at any size


Row = tuple[str, dict[str, Best]]  # who, and what by its figure
Owned = dict[Who, list[Cell]]  # the cells of one curve


@dataclass(frozen=True)
class Group:
    """One path with one kind of buffers: a row group of Table 2."""

    place: Place
    buffers: str
    title: str  # the path, and its buffers where there are several kinds
    figures: list[str]  # what was measured here, in the order of the tables
    ceilings: dict[str, CeilingPoint]  # by figure: the ceiling's best point
    rows: list[Row]  # contender, by figure
    baselines: list[Row]  # the same where the benchmark staged the data itself

    @property
    def all_rows(self) -> list[Row]:
        """What the libraries reach, then the baselines; each says which it is."""
        return self.rows + self.baselines

    def unit(self, name: str) -> str:
        """The unit of a figure's column."""
        units = [row[name].cell.unit for _, row in self.all_rows if name in row]
        return unit(units[0] if units else self.ceilings[name].unit)


@dataclass(frozen=True)
class TheoryRow:
    """One row of Table 1: the best that a path carries without MPI."""

    best: CeilingPoint
    theoretical_gbs: float | None
    fraction: float | None  # of the theoretical unidirectional rate
    largest: int  # bytes of the largest message that was measured
    one_way: bool  # whether the theoretical rate is of the same kind
    suspect: bool = False  # large messages, and even the best of its direction is below HEALTHY

    @property
    def place(self) -> Place:
        """Where it was measured."""
        return self.best.place

    @property
    def convention(self) -> str:
        """How the theoretical rate counts where that could be taken otherwise."""
        if self.place.shared:
            return "half of the memory's traffic: a payload, counted once, is read and written"
        return ""


@dataclass(frozen=True)
class VerdictRow:
    """Two alternatives in one curve: judged as a whole, and the verdicts of its cases counted."""

    whole: CurveComparison
    counts: dict[str, int]


def contenders(results: Results) -> list[Who]:
    """All who were to be measured, also those of which nothing but failures is known."""
    found = [Who(info.name, given.name) for info in results.libraries for given in info.settings]
    found += [cell.who for cell in results.cells]
    found += [failed.who for failed in results.failures if failed.who != CEILING]
    return list(dict.fromkeys(found))


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


def figures(results: Results) -> list[str]:
    """What was measured of MPI, in the order of the tables."""
    return list(dict.fromkeys(curve.figure for curve in curves(results)))


def ranking(results: Results) -> Callable[[Curve], int]:
    """Says where a curve stands in tables; what no benchmark measures comes last."""
    order: dict[tuple[str, str], int] = {}
    for benchmark in sorted(results.benchmarks, key=lambda one: one.place):
        for metric in benchmark.metrics:
            order.setdefault((benchmark.name, metric.name), len(order))
    return lambda curve: order.get((curve.benchmark, curve.metric), len(order))


def one_way(results: Results) -> Callable[[Curve], bool]:
    """Says whether the theoretical rate of a link, in one direction, can stand beside a curve."""
    known = {(one.name, one.main.name) for one in results.benchmarks if one.one_way}
    return lambda curve: (curve.benchmark, curve.metric) in known


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


def best_point(points: Iterable[CeilingPoint]) -> CeilingPoint | None:
    """The point that stands for a curve (`_best`)."""
    return _best((point.value, point) for point in points)


def best_cell(cells: Iterable[Cell]) -> Cell | None:
    """The measured cell that stands for a curve (`_best`)."""
    return _best((cell.median, cell) for cell in cells if cell.median is not None)


def _best(found: Iterable[tuple[float, T]]) -> T | None:
    """Of rates the highest; of times, where a library may do worse the less it has to send, that
    of the smallest message that is not empty. The smallest size wins a tie."""
    ordered = sorted(found, key=lambda pair: (pair[1].case.x == 0, pair[1].case.x))
    if not ordered:
        return None
    if ordered[0][1].better == "lower":
        return ordered[0][1]
    return max(ordered, key=lambda pair: pair[0])[1]


def table_one(results: Results) -> list[TheoryRow]:
    """Per path and curve: the best of the measured ceiling, and its part of the theoretical."""
    theory = {path.place: path.theoretical_gbs for path in results.paths}
    points: dict[tuple[Place, Curve], list[CeilingPoint]] = defaultdict(list)
    for point in results.ceilings:
        points[point.place, point.case.curve].append(point)
    order = {place: number for number, place in enumerate(places(results))}
    rank, comparable = ranking(results), one_way(results)
    rows = []
    for place, curve in sorted(points, key=lambda key: (order[key[0]], rank(key[1]))):
        best = best_point(points[place, curve])
        assert best is not None  # a curve has at least the point that made it
        known, beside = theory.get(place), comparable(curve)
        fraction = best.value / known if known and beside else None
        largest = max(point.case.x for point in points[place, curve])
        rows.append(TheoryRow(best, known, fraction, largest, beside))
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


def table_two(results: Results) -> list[Group]:
    """Per path and buffers: each contender's best cell of each figure, in the default curves.

    Below them the same where the benchmark staged the data itself.
    """
    defaults = default_curves(results)
    like = {bare(curve) for curve in defaults}
    shown = [
        curve
        for curve in curves(results)
        if (curve in defaults if staging(curve.axes) is None else bare(curve) in like)
    ]
    kinds = list(dict.fromkeys(curve.buffers for curve in defaults))
    cells: dict[Place, dict[Curve, Owned]] = defaultdict(lambda: defaultdict(dict))
    for cell in results.cells:
        cells[cell.place][cell.case.curve].setdefault(cell.who, []).append(cell)
    known, ceilings = contenders(results), Ceilings(results.ceilings)
    groups = []
    for place in places(results):
        for buffers in kinds:
            chosen = {
                curve: cells[place][curve]
                for curve in shown
                if curve.buffers == buffers and curve in cells[place]
            }
            if chosen:
                title = f"{place.path} ({buffers})" if len(kinds) > 1 else place.path
                groups.append(_group(place, buffers, title, chosen, known, ceilings))
    return groups


def _group(
    place: Place,
    buffers: str,
    title: str,
    chosen: dict[Curve, Owned],
    known: list[Who],
    ceilings: Ceilings,
) -> Group:
    tops: dict[str, CeilingPoint] = {}
    rows: dict[tuple[Who, str | None], dict[str, Best]] = {(who, None): {} for who in known}
    for curve, owned in chosen.items():
        top = best_point(ceilings.curve(place, curve))
        if top is not None:
            tops.setdefault(curve.figure, top)
        for who in known:
            best = best_cell(owned.get(who, []))
            if best is not None:
                row = rows.setdefault((who, staging(curve.axes)), {})
                row[curve.figure] = Best(best, _of_peak(best, top))
    return Group(
        place=place,
        buffers=buffers,
        title=title,
        figures=[
            name
            for name in dict.fromkeys(curve.figure for curve in chosen)
            if name in tops or any(name in row for row in rows.values())
        ],
        ceilings=tops,
        rows=[(who.label, row) for (who, how), row in rows.items() if how is None],
        baselines=[
            (f"{who.label}, {staged(how)}", row)
            for (who, how), row in rows.items()
            if how is not None
        ],
    )


def _of_peak(cell: Cell, top: CeilingPoint | None) -> float | None:
    if top is None or not cell.median or not top.value:
        return None
    return better_by(cell.median, top.value, cell.better)


def precision(results: Results) -> str:
    """How narrow the intervals are, and how many missed the aim; empty where there is none."""
    widths = [cell.half_width for cell in results.cells if cell.half_width is not None]
    if not widths:
        return ""
    missed = sum("imprecise" in cell.flags for cell in results.cells)
    goals = f"{percent(goal('higher'))} % (rates) or {percent(goal('lower'))} % (times)"
    return (
        f"The median half width of the 95 % intervals is {percent(median(widths))} %, of"
        f" {count(len(widths), 'cell')}; "
        + (f"{missed} are less precise than {goals}." if missed else f"all are within {goals}.")
    )


def flags(results: Results) -> list[tuple[str, str]]:
    """The flags that some cell has, and what each says."""
    raised = {flag for cell in results.cells for flag in cell.flags}
    return [(flag, words) for flag, words in FLAGS.items() if flag in raised]


def lost(finding: Finding) -> str:
    """The time that a finding is ranked by: `12.3 µs lost over 5 cases`; empty where unknown."""
    if not finding.lost_us:
        return ""
    return f"{number(finding.lost_us)} µs lost over {count(finding.cases, 'case')}."


def windows(results: Results) -> str:
    """Where fewer messages were in flight than elsewhere; empty when nowhere."""
    found: dict[bool, dict[int, int]] = {False: {}, True: {}}
    for cell in results.cells:
        if cell.window and cell.better == "higher":
            sizes = found[needs_gpu(cell.case.buffers)]
            sizes[cell.case.x] = min(cell.window, sizes.get(cell.case.x, cell.window))
    full = max((window for one in found.values() for window in one.values()), default=0)
    parts = []
    for gpu, where in ((False, "in host memory"), (True, "with a GPU's memory")):
        fewer = [
            f"{window} of {size(bytes_)}"
            for bytes_, window in sorted(found[gpu].items())
            if window < full
        ]
        if fewer:
            parts.append(f"{where} {', '.join(fewer)}")
    return f"{full} messages in flight, fewer where large: {'; '.join(parts)}." if parts else ""


def missing_methods(results: Results) -> list[str]:
    """Which methods the ceilings do without, and why."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for skip in results.skipped:
        if skip.method:
            methods, where = found.setdefault(skip.message, ({}, {}))
            methods[skip.method] = where[skip.place.path] = None
    return [
        f"Ceilings of {', '.join(where)} without {', '.join(methods)}: {message}."
        for message, (methods, where) in found.items()
    ]


def verdict_rows(results: Results) -> list[VerdictRow]:
    """The curves that were compared, in the order of the tables."""
    counts: dict[tuple[Who, Who, Place, Curve], Counter[str]] = defaultdict(Counter)
    for item in results.comparisons:
        counts[item.first, item.second, item.place, item.case.curve][item.verdict] += 1
    order = {place: number for number, place in enumerate(places(results))}
    rank = ranking(results)
    rows = []
    for whole in sorted(results.curves, key=lambda one: (order[one.place], rank(one.curve))):
        found = counts[whole.first, whole.second, whole.place, whole.curve]
        rows.append(VerdictRow(whole, {word: found[word] for word in VERDICTS}))
    return rows


def headlines(results: Results) -> list[tuple[Place, str]]:
    """One or two sentences of each path: who is nearest to the ceiling, and where it loses.

    Paths of all pairs have their own summary (report/pairs.py).
    """
    chosen = {curve for curve in default_curves(results) if staging(curve.axes) is None}
    rows = table_one(results)
    cells: dict[Place, list[Cell]] = defaultdict(list)
    for cell in results.cells:
        cells[cell.place].append(cell)
    return [
        (
            place,
            _headline([cell for cell in cells[place] if cell.case.curve in chosen], results)
            if place in cells
            else _ceiling_alone(results, place, [row.best for row in rows if row.place == place]),
        )
        for place in places(results)
        if not place.pair
    ]


def _headline(cells: list[Cell], results: Results) -> str:
    if not cells:
        return "Only other variants were measured: see the tables."
    # A defect of the ceiling says nothing of a library; a bandwidth of 0 bytes has no fraction.
    native = {info.name for info in results.libraries if info.native}
    libraries = {cell.who.library for cell in cells} - native
    judged: dict[Who, dict[Case, Cell]] = {}
    for cell in cells:
        if libraries and cell.who.library in native:
            continue  # the ceiling beside them is no library
        if cell.fraction and not is_defect(cell):
            judged.setdefault(cell.who, {})[cell.case] = cell
    if not judged:
        if all(cell.median is None for cell in cells):
            return "Nothing was measured: see the failures."
        if all(cell.status == "ok" for cell in cells):
            return "Nothing was measured that has a ceiling: see the tables."
        return "No believable ceiling was measured, so nothing is known of how near it is."
    common = set.intersection(*(set(mine) for mine in judged.values()))
    if not common:
        return "The libraries have no cell in common, so none can be said to be nearest."
    means = {
        who: geometric_mean(mine[key].fraction or 1.0 for key in common)  # in any order
        for who, mine in judged.items()
    }
    ranked = sorted(means, key=lambda who: -means[who])
    nearest = ranked[0]
    noise = _noise(mine[key] for mine in judged.values() for key in common)
    tied = [who for who in ranked if means[nearest] <= means[who] * (1 + noise)]
    others = ", ".join(f"{who.label} {percent(means[who])} %" for who in ranked[len(tied) :])
    shares = " and ".join(f"{percent(means[who])} %" for who in tied)
    it = "It"
    if len(tied) > 1:
        it = nearest.label
        sentence = " and ".join(who.label for who in tied)
        sentence += f" come equally near to the measured ceiling: {shares} of it ("
        sentence += f"{others}; " if others else ""
        sentence += "geometric means"
    elif others:
        sentence = f"{nearest.label} comes nearest to the measured ceiling: "
        sentence += f"{shares} of it ({others}; geometric means"
    else:
        sentence = f"{nearest.label} reaches {shares} of the measured ceiling (geometric mean"
    sentence += f" over {len(common)} cells)."
    mine = judged[nearest]
    comparable = one_way(results)
    peak = best_cell(cell for cell in mine.values() if comparable(cell.case))
    if peak is not None:
        sentence += (
            f" {it} peaks at {number(peak.median)} {unit(peak.unit)}"
            f" ({case(peak.case)} at {size(peak.case.x)}),"
            f" {percent(peak.fraction)} % of the ceiling at that size."
        )
    worst = min(mine.values(), key=lambda cell: cell.fraction or 0.0)
    sentence += (
        f" {it} loses most in {case(worst.case)} at {size(worst.case.x)}:"
        f" {number(worst.median)} {unit(worst.unit)}, {percent(worst.fraction)} % of the ceiling"
    )
    if worst.ceiling is not None:
        sentence += f" ({number(worst.ceiling.value)} {unit(worst.unit)} by {worst.ceiling.method})"
    return sentence + "."


def _noise(cells: Iterable[Cell]) -> float:
    """Below what part two figures do not differ: half the interval of a typical cell (of few
    launches their range), and the difference that is called equivalent."""
    spans = ((cell.ci95 or cell.range, cell.median) for cell in cells)
    widths = [(span[1] - span[0]) / 2 / middle for span, middle in spans if span and middle]
    return max(goal("lower"), median(widths or [0.0]))


def _ceiling_alone(results: Results, place: Place, points: list[CeilingPoint]) -> str:
    failed = sum(failure.place == place for failure in results.failures)
    if not points:
        return f"Nothing was measured: {count(failed, 'launch')} failed."
    parts = [
        f"{case(best.case)} {number(best.value)} {unit(best.unit)} by {best.method}"
        for best in points
        if not best.fact
    ]
    return f"Ceiling only, no MPI: {'; '.join(parts)}."
