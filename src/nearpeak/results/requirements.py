# SPDX-License-Identifier: Apache-2.0
"""What a study must reach: `--require '[LIBRARY,]PATH:BENCHMARK[:SIZE]>=AMOUNT'`, read and judged.

What can be named is one list of subjects, made from a plan or from results: the check before a
study and the judgement after it ask the same list, so nothing passes one and escapes the other.

docs/study.md tells what it means.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.identity import CEILING, Case, Curve, Place, Who
from nearpeak.machine.model import Path
from nearpeak.numbers import number, percent, size, spread, unit
from nearpeak.results.best import best_point
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import Key, is_defect
from nearpeak.results.model import CeilingPoint, Cell, Results
from nearpeak.results.names import case, reference, status
from nearpeak.results.theoretical import one_way
from nearpeak.study.answers import asked
from nearpeak.study.benchmarks import Benchmark, Metric, named
from nearpeak.study.buffers import HOST, ceiling_benchmarks, ceiling_launches
from nearpeak.study.describe import closest
from nearpeak.study.model import Plan, Variant, staging
from nearpeak.study.sizes import format_sizes, parse_bytes

FORM = re.compile(
    r"(?:(?P<library>[^,]+),)?(?P<path>[^,:]+):(?P<figure>[^:<>]+)(?::(?P<size>[^:<>]+))?"
    r"(?P<relation>[<>]=)(?P<amount>[^<>=]+?)(?P<strict> +strict)?"
)
CEILINGS = "ceiling"  # in the place of a library: what a path carries without MPI
MEMORY = ("copy", "triad")  # of the ceilings of a host's memory, in GB/s
THEORETICAL = "% of theoretical"
Span = tuple[float, float]
UNITS = {  # as they may be written, and as results have them; Gb/s would be something else
    "GB/s": "GB/s",
    "M/s": "M/s",
    "ratio": "ratio",
    "us": "us",
    "\N{MICRO SIGN}s": "us",
    "\N{GREEK SMALL LETTER MU}s": "us",
}


@dataclass(frozen=True)
class Bound:
    """What a figure must reach."""

    amount: float
    # Of the figure: "GB/s", "M/s", "us", "ratio"; THEORETICAL: a fraction of the link's rate in one
    # direction; "": a fraction of the ceiling.
    unit: str
    at_most: bool  # else: at least
    strict: bool = False  # not the median alone must reach it but the whole interval

    def holds(self, value: float) -> bool:
        """Whether a value reaches it."""
        return value <= self.amount if self.at_most else value >= self.amount


@dataclass(frozen=True)
class Requirement:
    """One path and benchmark, and what is wanted there."""

    text: str  # as it was given
    # As the tables name it, "openmpi@dmabuf-off"; None: all of the study; CEILINGS: none of them.
    library: str | None
    path: str
    figure: str  # "bw", "mbw_mr mr"
    size: int | None  # of a message, or of a problem; None: where the ceiling is at its best
    bound: Bound

    def names(self, who: Who) -> bool:
        """Whether it is about a library, or the ceilings."""
        if who == CEILING:
            return self.library == CEILINGS
        return self.library in (None, who.label)


@dataclass(frozen=True)
class Subjects:
    """All that a requirement can be about."""

    keys: list[Key]  # of CEILING, what was measured of a path without MPI
    benchmarks: list[Benchmark]
    rates: dict[Place, float]  # the theoretical ones of links, in one direction, GB/s

    def metric(self, one: Curve) -> Metric:
        """Its unit and what is better; that of a host's memory no benchmark has."""
        if one.benchmark in MEMORY:
            return Metric(one.benchmark, "GB/s", "higher")
        return named(self.benchmarks, one.benchmark).metric(one.metric)

    def rate(self, place: Place, one: Curve) -> float | None:
        """The theoretical rate that may stand beside a curve."""
        return self.rates.get(place) if one_way(self.benchmarks)(one) else None

    def size(self, what: Case) -> str:
        """`16 MiB`, `4096`: of messages, or of a problem."""
        known = {one.name: one for one in self.benchmarks}
        found = known.get(what.benchmark)
        return str(what.x) if found and not found.over_bytes else size(what.x)


@dataclass(frozen=True)
class Judgement:
    """How one library stands to a requirement."""

    requirement: Requirement
    who: Who
    met: bool
    words: str  # for people

    @property
    def sentence(self) -> str:
        """`Required gpu-gpu nvlink:bw>=0.9: openmpi met it: ...`."""
        return f"Required {self.requirement.text}: {label(self.who)} {self.words}"


def label(who: Who) -> str:
    """As a requirement names it."""
    return CEILINGS if who == CEILING else who.label


def parse_requirement(text: str) -> Requirement:
    """The requirement that `[LIBRARY,]PATH:BENCHMARK[:SIZE]>=AMOUNT` means; UserError for anything
    else. AMOUNT is a fraction of the ceiling, or a figure with its unit; `<=` is for times."""
    found = FORM.fullmatch(text)
    if found is None:
        raise UserError(
            f"{text!r} is no requirement: write 'PATH:BENCHMARK:SIZE>=FRACTION', like "
            "'host-host same-numa:bw:16M>=0.9', or a figure, like >=11GB/s or <=12us; without SIZE "
            "for the ceiling's best; 'LIBRARY,' or 'ceiling,' before it for one alone, ' strict' "
            "behind it for the whole interval"
        )
    parts = {name: part and part.strip() for name, part in found.groupdict().items()}
    return Requirement(
        text=text,
        library=parts["library"],
        path=parts["path"],
        figure=parts["figure"],
        size=parse_bytes(parts["size"]) if parts["size"] else None,
        bound=replace(
            _bound(parts["amount"], at_most=parts["relation"] == "<="), strict=bool(parts["strict"])
        ),
    )


def _bound(text: str, *, at_most: bool) -> Bound:
    found = re.fullmatch(r"(\d*\.?\d+)(?:\s*([^\d\s.](?:.*\S)?))?", text)
    amount = float(found[1]) if found else 0.0
    written = " ".join(((found[2] or "") if found else "").split())
    share = written in ("", THEORETICAL)
    most = (100.0 if written else 1.0) if share else math.inf
    if not 0 < amount <= most or math.isinf(amount) or not (share or written in UNITS):
        raise UserError(
            f"{text!r} is no fraction of a ceiling and no figure: write a number above 0 and up to "
            "1, like 0.9, one with GB/s, M/s or us, like 11GB/s, or 80% of theoretical"
        )
    if at_most and share:
        raise UserError(f"a fraction is to be reached: write >={text}")
    if written == THEORETICAL:
        return Bound(amount / 100, THEORETICAL, at_most)
    return Bound(amount, UNITS.get(written, ""), at_most)


def planned(plan: Plan) -> Subjects:
    """What a plan is to measure, in the order of its variants."""
    libraries = [
        (plan.who(launch), plan.place(launch), curve.at(x))
        for number, variant in enumerate(plan.variants)
        for launch in plan.launches
        if number in launch.variants
        for benchmark in [plan.benchmark(variant)]
        for metric, x in asked(plan, benchmark)
        # An application's results are its times.
        if benchmark.over_bytes or metric == benchmark.main.name
        for curve in [
            Curve(
                benchmark=variant.benchmark,
                metric=metric,
                buffers=variant.buffers,
                axes=variant.axes,
            )
        ]
    ]
    rates = {path.place: path.theoretical_gbs for path in plan.paths if path.theoretical_gbs}
    return Subjects([*libraries, *_planned_ceilings(plan)], plan.benchmarks, rates)


def _planned_ceilings(plan: Plan) -> Iterator[Key]:
    for path in plan.paths:
        if path.transport == "local":
            for name in MEMORY:
                curve = Curve(benchmark=name, metric=name, buffers=HOST, axes={})
                yield CEILING, path.place, curve.at(0)  # the program chooses the size
        both = {buffers for one in plan.variants for buffers in _of_ceilings(plan, path, one)}
        for buffers in sorted(both):
            for benchmark in ceiling_benchmarks(plan, path, buffers):
                yield from _planned_ceiling(plan, path, named(plan.benchmarks, benchmark), buffers)


def _of_ceilings(plan: Plan, path: Path, variant: Variant) -> list[str]:
    if path.transport == "local":
        return []
    return ceiling_launches(path, variant, plan.benchmarks)


def _planned_ceiling(plan: Plan, path: Path, benchmark: Benchmark, buffers: str) -> Iterator[Key]:
    for metric in benchmark.metrics:
        sizes = plan.sizes_of(benchmark)
        if metric.better == "higher" and path.id in plan.plateaus:
            sizes = [*sizes, plan.plateaus[path.id]]
        curve = Curve(benchmark=benchmark.name, metric=metric.name, buffers=buffers, axes={})
        for x in sizes:
            yield CEILING, path.place, curve.at(x)


def measured(results: Results) -> Subjects:
    """What a study measured, or tried to."""
    libraries = [(cell.who, cell.place, cell.case) for cell in results.timed]
    ceilings = [(CEILING, one.place, one.case) for one in _points(results)]
    rates = {path.place: path.theoretical_gbs for path in results.paths if path.theoretical_gbs}
    return Subjects([*libraries, *ceilings], results.benchmarks, rates)


def _points(results: Results) -> list[CeilingPoint]:
    """What was measured without MPI, and is more than a fact."""
    return [one for one in results.ceilings if one.kind == "measured" and not one.fact]


def check(requirements: Iterable[Requirement], subjects: Subjects) -> None:
    """UserError for a requirement that names nothing of what is measured, with what there is."""
    for one in requirements:
        try:
            _check(one, subjects)
        except UserError as error:
            raise UserError(f"--require {one.text!r}: {error}") from None


def _check(one: Requirement, subjects: Subjects) -> None:
    labels = [*dict.fromkeys(label(who) for who, _, _ in subjects.keys)]
    if one.library is not None and one.library not in labels:
        raise UserError(f"the study has no library {one.library!r}{closest(one.library, labels)}")
    mine = [key for key in subjects.keys if one.names(key[0])]
    paths = dict.fromkeys(place.path for _, place, _ in mine)
    if one.path not in paths:
        ceilings = any(place.path == one.path for _, place, _ in subjects.keys)
        if ceilings and one.library is None:
            raise UserError(f"no library is measured there: write 'ceiling,{one.path}:...'")
        raise UserError(f"the study has no path {one.path!r}{closest(one.path, list(paths))}")
    here = [what for _, place, what in mine if place.path == one.path]
    figures = dict.fromkeys(what.figure for what in here)
    if one.figure not in figures:
        raise UserError(
            f"{one.figure!r} is not measured on that path{closest(one.figure, list(figures))}"
        )
    asked_of = [what for what in here if what.figure == one.figure]
    places = {place for _, place, _ in mine if place.path == one.path}
    _check_bound(one, subjects, asked_of[0], places)
    if one.size is not None and one.figure in MEMORY:
        raise UserError(f"{one.figure} is measured beyond all caches: leave the size out")
    sizes = sorted({what.x for what in asked_of})
    if one.size is not None and one.size not in sizes:
        raise UserError(
            f"{one.figure} is not measured at {subjects.size(asked_of[0].curve.at(one.size))}"
            f" there: choose one of {format_sizes(sizes)}, or measure more with --sizes"
        )


def _check_bound(
    one: Requirement, subjects: Subjects, what: Curve, places: Iterable[Place]
) -> None:
    metric = subjects.metric(what)
    lower = metric.better == "lower"
    figure = f"{'<=' if lower else '>='}NUMBER{metric.unit}"
    ceiling = one.library == CEILINGS
    has_ceiling = ceiling or named(subjects.benchmarks, what.benchmark).has_ceiling
    if not one.bound.unit and ceiling:
        raise UserError(f"a ceiling is no fraction of itself: write {figure}")
    if not one.bound.unit and not has_ceiling:
        raise UserError(f"{one.figure} has no ceiling to be a fraction of: write {figure}")
    if one.bound.unit == THEORETICAL:
        if all(subjects.rate(place, what) is None for place in places):
            raise UserError(f"no theoretical rate of {one.figure} is known there: write {figure}")
    elif one.bound.unit and (one.bound.unit, one.bound.at_most) != (metric.unit, lower):
        raise UserError(
            f"{one.figure} is measured in {metric.unit}, and {metric.better} is better: write"
            f" {figure}"
        )
    if one.size is None and not has_ceiling:
        raise UserError(f"{one.figure} has no ceiling to choose a size by: name one, like :8")


def judge(requirements: Iterable[Requirement], results: Results) -> list[Judgement]:
    """How each library, or the ceiling, stands to requirements that were checked, for each kind of
    buffers. One that nothing answers to is missed."""
    subjects = measured(results)
    return [
        judged
        for one in requirements
        for judged in _judge(one, results, subjects) or [_unanswered(one)]
    ]


def _unanswered(one: Requirement) -> Judgement:
    who = CEILING if one.library == CEILINGS else Who(one.library or "nobody")
    return Judgement(one, who, met=False, words="missed it: nothing of it was measured")


def _judge(one: Requirement, results: Results, subjects: Subjects) -> list[Judgement]:
    figures = _figures(results)
    mine = [key for key in subjects.keys if one.names(key[0])]
    found = []
    for place, curve in _curves(one, mine):
        x = one.size
        if x is None:
            sizes = {what.x for _, where, what in mine if (where, what.curve) == (place, curve)}
            x = _best_size(one, results, place, curve, sizes)
        for who in dict.fromkeys(who for who, _, _ in mine):
            if x is None:
                met, words = False, f"missed it: no ceiling of {case(curve)} was measured"
            elif (reached := figures.get((who, place, curve.at(x)))) is None:
                met, words = False, f"missed it: {_absent((who, place, curve.at(x)), subjects)}"
            else:
                met, words = _judged(one.bound, reached, subjects)
            found.append(Judgement(one, who, met, words))
    return found


def _figures(results: Results) -> dict[Key, Cell | CeilingPoint]:
    found: dict[Key, Cell | CeilingPoint] = {
        (cell.who, cell.place, cell.case): cell for cell in results.timed
    }
    return found | {(CEILING, one.place, one.case): one for one in _points(results)}


def _best_size(
    one: Requirement, results: Results, place: Place, curve: Curve, sizes: Collection[int]
) -> int | None:
    """Where the ceiling is at its best among these sizes (`best_point`)."""
    if one.library == CEILINGS:
        points = [p for p in _points(results) if (p.place, p.case.curve) == (place, curve)]
    else:
        points = Ceilings(results.ceilings).curve(place, curve)
    best = best_point(point for point in points if point.case.x in sizes)
    return best.case.x if best else None


def _curves(one: Requirement, keys: Iterable[Key]) -> list[tuple[Place, Curve]]:
    """For each kind of buffers the first curve, which has the axes that tables show; one that the
    benchmark stages only where no other is."""
    found = dict.fromkeys(
        (place, what.curve)
        for _, place, what in keys
        if (place.path, what.figure) == (one.path, one.figure)
    )
    first: dict[str, tuple[Place, Curve]] = {}
    for place, curve in sorted(found, key=lambda pair: staging(pair[1].axes) is not None):
        first.setdefault(curve.buffers, (place, curve))
    return list(first.values())


def _absent(key: Key, subjects: Subjects) -> str:
    """Why there is no figure where others have one."""
    who, place, what = key
    staged = any(
        (one, where, other.figure, other.buffers) == (who, place, what.figure, what.buffers)
        for one, where, other in subjects.keys
        if staging(other.axes) is not None
    )
    why = ", but staged by the benchmark" if staged else ""
    return f"{case(what)} at {subjects.size(what)} was not measured{why}"


class _Told(NamedTuple):
    """A figure, or a fraction."""

    value: float
    ci95: Span | None
    range: Span | None
    words: str


def _judged(bound: Bound, reached: Cell | CeilingPoint, subjects: Subjects) -> tuple[bool, str]:
    """Whether the median, or all of the interval, reaches what is wanted, and what to say of it."""
    where = f"{case(reached.case)} at {subjects.size(reached.case)}"
    if isinstance(reached, Cell) and reached.median is None:
        return False, f"missed it: {where} was not measured ({status(reached)})"
    told = _told(bound, reached, subjects.rate(reached.place, reached.case))
    if isinstance(told, str):
        return False, f"missed it: {told} of {where} was measured"
    figures = f"{told.words}, {where}"
    span = told.ci95 or told.range or (told.value, told.value)
    if not bound.holds(told.value):
        reach = ", though the interval reaches it" if any(map(bound.holds, span)) else ""
        return False, f"missed it{reach}: {figures}"
    if bound.strict and told.ci95 is None:
        return False, f"missed it: too few launches for an interval: {figures}"
    beyond = "above" if bound.at_most else "below"
    if not all(map(bound.holds, span)):
        if bound.strict:
            return False, f"missed it: the interval reaches {beyond}: {figures}"
        return True, f"met it, but the interval reaches {beyond}: {figures}"
    if not bound.unit and isinstance(reached, Cell) and is_defect(reached):
        return True, f"met it, but the {reference(reached.ceiling)} has a defect there: {figures}"
    return True, f"met it: {figures}"


def _told(bound: Bound, reached: Cell | CeilingPoint, rate: float | None) -> _Told | str:
    """What is held against a bound; what is missing, where there is none."""
    if not bound.unit:
        return _fraction(reached) if isinstance(reached, Cell) else "no ceiling"
    value = reached.median or 0.0 if isinstance(reached, Cell) else reached.value
    ci95, all_of = reached.ci95, reached.range
    if bound.unit == THEORETICAL:
        if rate is None:
            return "no theoretical rate"
        ci95, all_of = (span and (span[0] / rate, span[1] / rate) for span in (ci95, all_of))
        words = f"{percent(value / rate)} {THEORETICAL} ({spread(ci95, all_of, 100)})"
        return _Told(value / rate, ci95, all_of, words)
    words = f"{number(value)} {unit(reached.unit)} ({spread(ci95, all_of)})"
    return _Told(value, ci95, all_of, words)


def _fraction(cell: Cell) -> _Told | str:
    if cell.fraction is None:
        return "no ceiling"
    between = spread(cell.fraction_ci95, cell.fraction_range, 100)
    words = f"{percent(cell.fraction)} % of the {reference(cell.ceiling)} ({between})"
    return _Told(cell.fraction, cell.fraction_ci95, cell.fraction_range, words)
