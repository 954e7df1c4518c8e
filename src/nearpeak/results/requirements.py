# SPDX-License-Identifier: Apache-2.0
"""What a study must reach: `--require 'PATH:BENCHMARK[:SIZE]>=AMOUNT'`, read and judged.

docs/study.md tells what it means.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearpeak.errors import UserError
from nearpeak.identity import Curve, Place, Who
from nearpeak.numbers import number, percent, size, spread, unit
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import Key, is_defect
from nearpeak.results.model import CeilingPoint, Cell, Results
from nearpeak.results.names import case, reference, status
from nearpeak.study.answers import asked
from nearpeak.study.benchmarks import Benchmark, named
from nearpeak.study.describe import closest
from nearpeak.study.model import Plan, staging
from nearpeak.study.sizes import format_sizes, parse_bytes

FORM = re.compile(
    r"(?:(?P<library>[^,]+),)?(?P<path>[^,:]+):(?P<figure>[^:<>]+)(?::(?P<size>[^:<>]+))?"
    r"(?P<relation>[<>]=)(?P<amount>[^<>=]+)"
)
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
    unit: str  # of the figure: "GB/s", "M/s", "us", "ratio"; "": a fraction of the ceiling
    at_most: bool  # else: at least

    def holds(self, value: float) -> bool:
        """Whether a value reaches it."""
        return value <= self.amount if self.at_most else value >= self.amount


@dataclass(frozen=True)
class Requirement:
    """One path and benchmark, and what is wanted there."""

    text: str  # as it was given
    library: str | None  # as the tables name it, "openmpi@dmabuf-off"; None: all of the study
    path: str
    figure: str  # "bw", "mbw_mr mr"
    size_bytes: int | None  # None: where the ceiling is at its best
    bound: Bound


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
        return f"Required {self.requirement.text}: {self.who.label} {self.words}"


def parse_requirement(text: str) -> Requirement:
    """The requirement that `[LIBRARY,]PATH:BENCHMARK[:SIZE]>=AMOUNT` means; UserError for anything
    else. AMOUNT is a fraction of the ceiling, or a figure with its unit; `<=` is for times."""
    found = FORM.fullmatch(text)
    if found is None:
        raise UserError(
            f"{text!r} is no requirement: write 'PATH:BENCHMARK:SIZE>=FRACTION', like "
            "'host-host same-numa:bw:16M>=0.9', or a figure, like >=11GB/s or <=12us; without SIZE "
            "for the ceiling's best, and with 'LIBRARY,' before it for one library alone"
        )
    parts = {name: part and part.strip() for name, part in found.groupdict().items()}
    return Requirement(
        text=text,
        library=parts["library"],
        path=parts["path"],
        figure=parts["figure"],
        size_bytes=parse_bytes(parts["size"]) if parts["size"] else None,
        bound=_bound(parts["amount"], at_most=parts["relation"] == "<="),
    )


def _bound(text: str, *, at_most: bool) -> Bound:
    found = re.fullmatch(r"(\d*\.?\d+)(?:\s*([^\d\s.]+))?", text)
    amount = float(found[1]) if found else 0.0
    written = (found[2] or "") if found else ""
    most = math.inf if written in UNITS else 1.0
    if not 0 < amount <= most or math.isinf(amount) or (written and written not in UNITS):
        raise UserError(
            f"{text!r} is no fraction of a ceiling and no figure: write a number above 0 and up to "
            "1, like 0.9, or one with GB/s, M/s or us, like 11GB/s"
        )
    if at_most and not written:
        raise UserError(f"a fraction of the ceiling is to be reached: write >={text}")
    return Bound(amount, UNITS.get(written, ""), at_most)


def planned_keys(plan: Plan) -> list[Key]:
    """What the libraries of a plan are to be measured in, in the order of its variants."""
    return [
        (plan.who(launch), plan.place(launch), curve.at(size_bytes))
        for number, variant in enumerate(plan.variants)
        for launch in plan.launches
        if number in launch.variants
        for metric, size_bytes in asked(plan, plan.benchmark(variant))
        for curve in [
            Curve(
                benchmark=variant.benchmark,
                metric=metric,
                buffers=variant.buffers,
                axes=variant.axes,
            )
        ]
    ]


def measured_keys(results: Results) -> list[Key]:
    """What the libraries of a study were measured in, or tried to be."""
    return [(cell.who, cell.place, cell.case) for cell in results.cells]


def check(
    requirements: Iterable[Requirement], keys: Sequence[Key], benchmarks: Iterable[Benchmark]
) -> None:
    """UserError for a requirement that names nothing of what is measured, with what there is."""
    known = list(benchmarks)
    for one in requirements:
        try:
            _check(one, keys, known)
        except UserError as error:
            raise UserError(f"--require {one.text!r}: {error}") from None


def _check(one: Requirement, keys: Sequence[Key], benchmarks: list[Benchmark]) -> None:
    labels = dict.fromkeys(who.label for who, _, _ in keys)
    if one.library is not None and one.library not in labels:
        raise UserError(
            f"the study has no library {one.library!r}{closest(one.library, list(labels))}"
        )
    paths = dict.fromkeys(place.path for _, place, _ in keys)
    if one.path not in paths:
        raise UserError(f"the study has no path {one.path!r}{closest(one.path, list(paths))}")
    here = [(who, what) for who, place, what in keys if place.path == one.path]
    figures = dict.fromkeys(what.figure for _, what in here)
    if one.figure not in figures:
        raise UserError(
            f"{one.figure!r} is not measured on that path{closest(one.figure, list(figures))}"
        )
    mine = [(who, what) for who, what in here if what.figure == one.figure]
    _check_bound(one, named(benchmarks, mine[0][1].benchmark), mine[0][1].metric)
    sizes = sorted({what.x for _, what in mine})
    if one.size_bytes is not None and one.size_bytes not in sizes:
        raise UserError(
            f"{one.figure} is not measured at {size(one.size_bytes)} there: choose one of "
            f"{format_sizes(sizes)}, or measure more with --sizes"
        )


def _check_bound(one: Requirement, benchmark: Benchmark, name: str) -> None:
    metric, lower = benchmark.metric(name), benchmark.metric(name).better == "lower"
    figure = f"{'<=' if lower else '>='}NUMBER{metric.unit}"
    if not one.bound.unit and not benchmark.has_ceiling:
        raise UserError(f"{one.figure} has no ceiling to be a fraction of: write {figure}")
    if one.bound.unit and (one.bound.unit, one.bound.at_most) != (metric.unit, lower):
        raise UserError(
            f"{one.figure} is measured in {metric.unit}, and {metric.better} is better: write"
            f" {figure}"
        )
    if one.size_bytes is None and not benchmark.has_ceiling:
        raise UserError(f"{one.figure} has no ceiling to choose a size by: name one, like :8")


def judge(requirements: Iterable[Requirement], results: Results) -> list[Judgement]:
    """How each library stands to requirements that were checked, for each kind of buffers."""
    return [judged for one in requirements for judged in _judge(one, results)]


def _judge(requirement: Requirement, results: Results) -> list[Judgement]:
    cells = {(cell.who, cell.place, cell.case): cell for cell in results.cells}
    owners = [
        who
        for who in dict.fromkeys(who for who, _, _ in cells)
        if requirement.library in (None, who.label)
    ]
    ceilings = Ceilings(results.ceilings)
    found = []
    for place, curve in _curves(requirement, cells):
        x = requirement.size_bytes
        if x is None:
            sizes = {what.x for _, where, what in cells if (where, what.curve) == (place, curve)}
            x = _best_x([one for one in ceilings.curve(place, curve) if one.case.x in sizes])
        for who in owners:
            if x is None:
                met, words = False, f"missed it: no ceiling of {case(curve)} was measured"
            elif (cell := cells.get((who, place, curve.at(x)))) is None:
                met, words = False, f"missed it: {_absent((who, place, curve.at(x)), cells)}"
            else:
                met, words = _judged(requirement, cell)
            found.append(Judgement(requirement, who, met, words))
    return found


def _curves(requirement: Requirement, keys: Iterable[Key]) -> list[tuple[Place, Curve]]:
    """For each kind of buffers the first curve, which has the axes that tables show; one that the
    benchmark stages only where no other is."""
    found = dict.fromkeys(
        (place, what.curve)
        for _, place, what in keys
        if (place.path, what.figure) == (requirement.path, requirement.figure)
    )
    first: dict[str, tuple[Place, Curve]] = {}
    for place, curve in sorted(found, key=lambda pair: staging(pair[1].axes) is not None):
        first.setdefault(curve.buffers, (place, curve))
    return list(first.values())


def _best_x(points: list[CeilingPoint]) -> int | None:
    """Where a ceiling is at its best: of rates the highest, of times the smallest message with
    anything in it."""
    if not points:
        return None
    if points[0].better == "higher":
        return max(points, key=lambda point: point.value).case.x
    return min(points, key=lambda point: (point.case.x == 0, point.case.x)).case.x


def _absent(key: Key, cells: Iterable[Key]) -> str:
    """Why there is no cell where other libraries have one."""
    who, place, what = key
    staged = any(
        (one, where, other.figure, other.buffers) == (who, place, what.figure, what.buffers)
        for one, where, other in cells
        if staging(other.axes) is not None
    )
    why = ", but staged by the benchmark" if staged else ""
    return f"{case(what)} at {size(what.x)} was not measured{why}"


def _judged(requirement: Requirement, cell: Cell) -> tuple[bool, str]:
    """Whether the median reaches what is wanted, and what to say of it."""
    bound = requirement.bound
    where = f"{case(cell.case)} at {size(cell.case.x)}"
    if cell.median is None:
        return False, f"missed it: {where} was not measured ({status(cell)})"
    if not bound.unit and cell.fraction is None:
        return False, f"missed it: no ceiling of {where} was measured"
    value, span, told = _figure(cell, cell.median) if bound.unit else _fraction(cell)
    figures = f"{told}, {where}"
    if not bound.holds(value):
        reach = ", though the interval reaches it" if any(map(bound.holds, span)) else ""
        return False, f"missed it{reach}: {figures}"
    if not bound.unit and is_defect(cell):
        return True, f"met it, but the {reference(cell.ceiling)} has a defect there: {figures}"
    beyond = "above" if bound.at_most else "below"
    reach = "" if all(map(bound.holds, span)) else f", but the interval reaches {beyond}"
    return True, f"met it{reach}: {figures}"


def _figure(cell: Cell, median: float) -> tuple[float, Span, str]:
    """The median of a cell, from where to where it may be, and both in words."""
    span = cell.ci95 or cell.range or (median, median)
    return median, span, f"{number(median)} {unit(cell.unit)} ({spread(cell.ci95, cell.range)})"


def _fraction(cell: Cell) -> tuple[float, Span, str]:
    """The same of the fraction of the ceiling, which the cell has."""
    fraction = cell.fraction or 0.0
    span = cell.fraction_ci95 or cell.fraction_range or (fraction, fraction)
    between = spread(cell.fraction_ci95, cell.fraction_range, 100)
    return fraction, span, f"{percent(fraction)} % of the {reference(cell.ceiling)} ({between})"
