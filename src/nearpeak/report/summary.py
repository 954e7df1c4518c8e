# SPDX-License-Identifier: Apache-2.0
"""What the terminal, the page and the exports all show: contenders, variants and the two tables.

Everything here is taken from `Results`; nothing is measured or judged again.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import geometric_mean, median
from typing import TypeVar

from nearpeak.libraries.families import natives
from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.report import pairs
from nearpeak.results.cells import ABOVE
from nearpeak.results.model import CeilingPoint, Cell, Comparison, Results
from nearpeak.results.names import axes_words, case, figure, staged
from nearpeak.study.buffers import ceiling_buffers, needs_gpu
from nearpeak.study.model import GPU_FACTS, STAGING, label, staging
from nearpeak.study.precision import goal

T = TypeVar("T", Cell, CeilingPoint)
HEALTHY = 0.8  # of the theoretical rate: below, a link or a memory is worth a look,
JUDGED_FROM = 64 << 20  # bytes of a message: of smaller ones, a fast link or memory carries less
SAME_GPU = "gpu-gpu same-gpu"
KERNEL_METHODS = "sm"  # how the names of the ceilings' methods begin that need kernels
VERDICTS = ("faster", "slower", "equivalent", "undecided")


@dataclass(frozen=True)
class Variant:
    """A metric of a benchmark with its buffers and a value for each axis: what a curve is of."""

    benchmark: str
    metric: str
    buffers: str
    axes: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """`latency (H,H, calls=blocking)`."""
        return f"{self.figure} ({self.detail})"

    @property
    def figure(self) -> str:
        """`latency`, `mbw_mr mr`: what it is called without its buffers and axes."""
        return figure(self.benchmark, self.metric)

    @property
    def detail(self) -> str:
        """What the benchmark's name leaves open."""
        return ", ".join([self.buffers, *axes_words(dict(self.axes))])

    @property
    def staging(self) -> str | None:
        """How the benchmark itself staged the data; None: it did not."""
        return staging(dict(self.axes))

    @property
    def unstaged(self) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
        """What it has in common with its like that stage the data otherwise."""
        others = tuple(pair for pair in self.axes if pair[0] != STAGING)
        return self.benchmark, self.metric, self.buffers, others


@dataclass(frozen=True)
class Best:
    """A contender's best cell of one benchmark on one path."""

    cell: Cell
    of_peak: float | None  # of the best value that the path's ceiling reaches at any size


Row = tuple[str, dict[str, Best]]  # who, and what by its figure
Ceilings = dict[tuple[str, str, str], list[CeilingPoint]]  # by path, metric, buffers


@dataclass(frozen=True)
class Group:
    """One path with one kind of buffers: a row group of Table 2."""

    path: str
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

    path: str
    best: CeilingPoint
    theoretical_gbs: float | None
    fraction: float | None  # of the theoretical unidirectional rate
    largest: int  # bytes of the largest message that was measured
    one_way: bool  # whether the theoretical rate is of the same kind
    suspect: bool = False  # large messages, and even the best of its direction is below HEALTHY

    @property
    def fact(self) -> bool:
        """Whether no benchmark of MPI is held against it."""
        return self.best.metric in GPU_FACTS

    @property
    def convention(self) -> str:
        """How the theoretical rate counts where that could be taken otherwise."""
        if self.path.startswith(SAME_GPU):
            return "half of the memory's traffic: a payload, counted once, is read and written"
        return ""


@dataclass(frozen=True)
class VerdictRow:
    """The comparisons of one pair of contenders on one path in one variant, counted."""

    first: str
    second: str
    path: str
    variant: Variant
    counts: dict[str, int]
    median_ratio: float


def variant_of(item: Cell | Comparison) -> Variant:
    """The variant a cell or a comparison belongs to."""
    return Variant(item.benchmark, item.metric, item.buffers, tuple(sorted(item.axes.items())))


def contenders(results: Results) -> list[tuple[str, str]]:
    """Every (library, settings), also those of which nothing but failures is known."""
    found = [(info.name, settings) for info in results.libraries for settings in info.settings]
    found += [(cell.library, cell.settings) for cell in results.cells]
    found += [(failed.library, failed.settings) for failed in results.failures if failed.library]
    return list(dict.fromkeys(found))


def paths(results: Results) -> list[str]:
    """The ids of all paths, those with MPI cells first."""
    measured = [cell.path for cell in results.cells]
    described = [path.id for path in results.paths]
    others = [point.path for point in results.ceilings]
    with_cells = set(measured)
    found = dict.fromkeys(described + measured + others)
    return sorted(found, key=lambda path: path not in with_cells)


def variants(results: Results) -> list[Variant]:
    """Every variant; the first one of a benchmark and its buffers is the default one.

    Results keep the order of the plan, which puts each benchmark's default axes first.
    """
    found = list(dict.fromkeys(variant_of(cell) for cell in results.cells))
    rank = ranking(results)
    return sorted(found, key=lambda variant: rank(variant.figure))


def ranking(results: Results) -> Callable[[str], int]:
    """Says where a figure, or a metric, stands in tables; all others come after those known."""
    order: dict[str, int] = {}
    for benchmark in sorted(results.benchmarks, key=lambda one: one.place):
        for metric in benchmark.metrics:
            for name in (figure(benchmark.name, metric.name), metric.name):
                order.setdefault(name, len(order))
    return lambda name: order.get(name, len(order))


def one_way(results: Results) -> set[str]:
    """The metrics that the theoretical rate of a link, in one direction, can stand beside."""
    return {benchmark.main.name for benchmark in results.benchmarks if benchmark.one_way}


def default_variants(results: Results) -> list[Variant]:
    """The default variant of each (benchmark, buffers); one that stages only where no other is."""
    found = variants(results)
    first: dict[tuple[str, str], Variant] = {}
    for variant in sorted(found, key=lambda variant: variant.staging is not None):
        first.setdefault((variant.figure, variant.buffers), variant)
    return sorted(first.values(), key=found.index)


def is_defect(cell: Cell) -> bool:
    """Faster than the ceiling by more than noise explains: the ceiling is wrong there."""
    return cell.status == "above ceiling" or (cell.fraction or 0.0) > ABOVE


def defects(results: Results) -> list[Cell]:
    """The cells that lie above their ceiling, worst first."""
    return sorted(filter(is_defect, results.cells), key=lambda cell: -(cell.fraction or 0.0))


def ceilings_by_curve(results: Results) -> Ceilings:
    """The points of the ceilings, where they can be found fast."""
    found: Ceilings = {}
    for point in results.ceilings:
        found.setdefault((point.path, point.metric, point.buffers), []).append(point)
    return found


def ceiling_points(
    ceilings: Ceilings, path: str, metric: str, variant: Variant
) -> list[CeilingPoint]:
    """The ceiling under one variant's curve, by size.

    A ceiling fits when path, metric and buffers are equal and so is every axis of it that the
    variant also has.
    """
    axes = dict(variant.axes)
    buffers = ceiling_buffers(variant.buffers)
    found: dict[int, CeilingPoint] = {}
    for point in ceilings.get((path, metric, buffers), []):
        if point.fits(axes):
            found.setdefault(point.size_bytes, point)
    return [found[key] for key in sorted(found)]


def best_point(points: Iterable[CeilingPoint]) -> CeilingPoint | None:
    """The point that stands for a curve (`_best`)."""
    return _best((point.value, point) for point in points)


def best_cell(cells: Iterable[Cell]) -> Cell | None:
    """The measured cell that stands for a curve (`_best`)."""
    return _best((cell.median, cell) for cell in cells if cell.median is not None)


def _best(found: Iterable[tuple[float, T]]) -> T | None:
    """Of rates the highest; of times, where a library may do worse the less it has to send, that
    of the smallest message that is not empty. The smallest size wins a tie."""
    ordered = sorted(found, key=lambda pair: (pair[1].size_bytes == 0, pair[1].size_bytes))
    if not ordered:
        return None
    if ordered[0][1].better == "lower":
        return ordered[0][1]
    return max(ordered, key=lambda pair: pair[0])[1]


def table_one(results: Results) -> list[TheoryRow]:
    """Per path and metric: the best of the measured ceiling, and its part of the theoretical."""
    theory = {path.id: path.theoretical_gbs for path in results.paths}
    curves: dict[tuple[str, str, str, tuple[tuple[str, str], ...]], list[CeilingPoint]] = {}
    for point in results.ceilings:
        key = (point.path, point.metric, point.buffers, tuple(sorted(point.axes.items())))
        curves.setdefault(key, []).append(point)
    order = {path: place for place, path in enumerate(paths(results))}
    rank, comparable = ranking(results), one_way(results)
    rows = []
    for key in sorted(curves, key=lambda key: (order[key[0]], rank(key[1]))):
        best = best_point(curves[key])
        assert best is not None  # a curve has at least the point that made it
        known = theory.get(best.path)
        beside = best.metric in comparable
        fraction = best.value / known if known and beside else None
        largest = max(point.size_bytes for point in curves[key])
        rows.append(TheoryRow(best.path, best, known, fraction, largest, beside))
    return _judged(rows)


def _judged(rows: list[TheoryRow]) -> list[TheoryRow]:
    """The same, with the rows that are worth a look marked.

    Pageable memory or rotating buffers may well be slow on a sound link: only the best of each
    direction of a path speaks of its health.
    """
    best: dict[tuple[str, tuple[bool, ...]], tuple[float, int]] = {}
    for place, row in enumerate(rows):
        managed = "M" in row.best.buffers  # such memory moves
        if row.fraction is not None and row.largest >= JUDGED_FROM and not managed:
            where = (row.path, _direction(row.best.buffers))
            best[where] = max(best.get(where, (0.0, 0)), (row.fraction, -place))
    suspects = {-place for fraction, place in best.values() if fraction < HEALTHY}
    return [replace(row, suspect=place in suspects) for place, row in enumerate(rows)]


def _direction(buffers: str) -> tuple[bool, ...]:
    """Of each end: whether its buffer lies in host memory."""
    return tuple(kind in ("H", "P") for kind in buffers.split(","))


def table_two(results: Results) -> list[Group]:
    """Per path and buffers: each contender's best cell of each benchmark, in the default variants.

    Below them the same where the benchmark staged the data itself.
    """
    known = contenders(results)
    rank = ranking(results)
    ceilings = ceilings_by_curve(results)
    defaults = default_variants(results)
    like = {variant.unstaged for variant in defaults}
    shown = [v for v in defaults if v.staging is None]
    shown += [v for v in variants(results) if v.staging is not None and v.unstaged in like]
    kinds = list(dict.fromkeys(variant.buffers for variant in defaults))
    cells: dict[tuple[str, Variant], dict[tuple[str, str], list[Cell]]] = {}
    for cell in results.cells:
        owners = cells.setdefault((cell.path, variant_of(cell)), {})
        owners.setdefault((cell.library, cell.settings), []).append(cell)
    groups = []
    for path in paths(results):
        for buffers in kinds:
            chosen = [v for v in shown if v.buffers == buffers and (path, v) in cells]
            if not chosen:
                continue
            tops: dict[str, CeilingPoint] = {}
            rows: dict[tuple[tuple[str, str], str | None], dict[str, Best]] = {
                (who, None): {} for who in known
            }
            for variant in chosen:
                owned = cells[path, variant]
                metric = next(iter(owned.values()))[0].metric
                top = best_point(ceiling_points(ceilings, path, metric, variant))
                if top is not None:
                    tops.setdefault(variant.figure, top)
                for who in known:
                    best = best_cell(owned.get(who, []))
                    if best is not None:
                        row = rows.setdefault((who, variant.staging), {})
                        row[variant.figure] = Best(best, _of_peak(best, top))
            names = {name for row in rows.values() for name in row} | set(tops)
            groups.append(
                Group(
                    path=path,
                    buffers=buffers,
                    title=f"{path} ({buffers})" if len(kinds) > 1 else path,
                    figures=sorted(names, key=lambda name: (rank(name), name)),
                    ceilings=tops,
                    rows=[(label(*who), row) for (who, how), row in rows.items() if how is None],
                    baselines=[
                        (f"{label(*who)}, {staged(how)}", row)
                        for (who, how), row in rows.items()
                        if how is not None
                    ],
                )
            )
    return groups


def _of_peak(cell: Cell, top: CeilingPoint | None) -> float | None:
    if top is None or not cell.median or not top.value:
        return None
    return top.value / cell.median if cell.better == "lower" else cell.median / top.value


def imprecise(results: Results) -> str:
    """How many cells missed the aim; empty when none did."""
    missed = sum("imprecise" in cell.flags for cell in results.cells)
    if not missed:
        return ""
    return (
        f"{missed} of {count(len(results.cells), 'cell')} are less precise than"
        f" {percent(goal('higher'))} % (rates) or {percent(goal('lower'))} % (times):"
        " the report has the intervals."
    )


def windows(results: Results) -> str:
    """Where fewer messages were in flight than elsewhere; empty when nowhere."""
    found: dict[bool, dict[int, int]] = {False: {}, True: {}}
    for cell in results.cells:
        if cell.window and cell.better == "higher":
            sizes = found[needs_gpu(cell.buffers)]
            sizes[cell.size_bytes] = min(cell.window, sizes.get(cell.size_bytes, cell.window))
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
            methods[skip.method] = where[skip.path] = None
    return [
        f"Ceilings of {', '.join(where)} without {', '.join(methods)}: {message}"
        + (
            "; without kernels those of many small messages are too low"
            if any(method.startswith(KERNEL_METHODS) for method in methods)
            else ""
        )
        + "."
        for message, (methods, where) in found.items()
    ]


def verdict_rows(results: Results) -> list[VerdictRow]:
    """The comparisons counted by pair, path and variant."""
    found: dict[tuple[str, str, str, Variant], list[Comparison]] = {}
    for item in results.comparisons:
        key = (label(*item.first), label(*item.second), item.path, variant_of(item))
        found.setdefault(key, []).append(item)
    order = {path: place for place, path in enumerate(paths(results))}
    rank = ranking(results)
    rows = []
    for key in sorted(found, key=lambda key: (order.get(key[2], len(order)), rank(key[3].figure))):
        counts = Counter(item.verdict for item in found[key])
        middle = median(item.ratio for item in found[key])
        rows.append(VerdictRow(*key, {word: counts[word] for word in VERDICTS}, middle))
    return rows


def headlines(results: Results) -> list[tuple[str, str]]:
    """(path, one or two sentences): who is nearest to the ceiling there, and where it loses.

    Paths of all pairs have their own summary (report/pairs.py).
    """
    cells: dict[str, list[Cell]] = {}
    for cell in results.cells:
        cells.setdefault(cell.path, []).append(cell)
    chosen = {variant for variant in default_variants(results) if variant.staging is None}
    ceilings = table_one(results)
    return [
        (
            path,
            _headline([cell for cell in cells[path] if variant_of(cell) in chosen], results)
            if path in cells
            else _ceiling_alone(results, path, [row.best for row in ceilings if row.path == path]),
        )
        for path in paths(results)
        if pairs.ends(path) is None
    ]


def _headline(cells: list[Cell], results: Results) -> str:
    if not cells:
        return "Only other variants were measured: see the tables."
    # A defect of the ceiling says nothing of a library; a bandwidth of 0 bytes has no fraction.
    native = _natives(results)
    libraries = {cell.library for cell in cells} - native
    judged: dict[tuple[str, str], dict[tuple[Variant, int], Cell]] = {}
    for cell in cells:
        if libraries and cell.library in native:
            continue  # the ceiling beside them is no library
        if cell.fraction and not is_defect(cell):
            mine = judged.setdefault((cell.library, cell.settings), {})
            mine[variant_of(cell), cell.size_bytes] = cell
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
    others = ", ".join(f"{label(*who)} {percent(means[who])} %" for who in ranked[len(tied) :])
    shares = " and ".join(f"{percent(means[who])} %" for who in tied)
    it = "It"
    if len(tied) > 1:
        it = label(*nearest)
        sentence = " and ".join(label(*who) for who in tied)
        sentence += f" come equally near to the measured ceiling: {shares} of it ("
        sentence += f"{others}; " if others else ""
        sentence += "geometric means"
    elif others:
        sentence = f"{label(*nearest)} comes nearest to the measured ceiling: "
        sentence += f"{shares} of it ({others}; geometric means"
    else:
        sentence = f"{label(*nearest)} reaches {shares} of the measured ceiling (geometric mean"
    sentence += f" over {len(common)} cells)."
    mine = judged[nearest]
    rates = one_way(results)
    peak = best_cell(cell for cell in mine.values() if cell.metric in rates)
    if peak is not None:
        sentence += (
            f" {it} peaks at {number(peak.median)} {unit(peak.unit)}"
            f" ({_case(peak)} at {size(peak.size_bytes)}),"
            f" {percent(peak.fraction)} % of the ceiling at that size."
        )
    worst = min(mine.values(), key=lambda cell: cell.fraction or 0.0)
    sentence += (
        f" {it} loses most in {_case(worst)} at {size(worst.size_bytes)}:"
        f" {number(worst.median)} {unit(worst.unit)}, {percent(worst.fraction)} % of the ceiling"
    )
    if worst.ceiling is not None:
        sentence += f" ({number(worst.ceiling.value)} {unit(worst.unit)} by {worst.ceiling.method})"
    return sentence + "."


def _natives(results: Results) -> set[str]:
    """The names of what stands in the place of a library and is none: the ceiling."""
    families = {library.family for library in natives().values()}
    return {info.name for info in results.libraries if info.family in families}


def _noise(cells: Iterable[Cell]) -> float:
    """Below what part two figures do not differ: half the interval of a typical cell (of few
    launches their range), and the difference that is called equivalent."""
    spans = ((cell.ci95 or cell.range, cell.median) for cell in cells)
    widths = [(span[1] - span[0]) / 2 / middle for span, middle in spans if span and middle]
    return max(goal("lower"), median(widths or [0.0]))


def _case(cell: Cell) -> str:
    return case(figure(cell.benchmark, cell.metric), cell.buffers, cell.axes)


def _ceiling_alone(results: Results, path: str, points: list[CeilingPoint]) -> str:
    failed = sum(failure.path == path for failure in results.failures)
    if not points:
        return f"Nothing was measured: {count(failed, 'launch')} failed."
    parts = [
        f"{_curve(best)} {number(best.value)} {unit(best.unit)} by {best.method}"
        for best in points
        if best.metric not in GPU_FACTS
    ]
    return f"Ceiling only, no MPI: {'; '.join(parts)}."


def _curve(point: CeilingPoint) -> str:
    return case(point.metric, point.buffers, {})
