# SPDX-License-Identifier: Apache-2.0
"""Requirements of a study: `--require 'PATH:BENCHMARK[:SIZE]>=AMOUNT'`, read and judged.

docs/how-to/requirements.md describes them.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from nearpeak.errors import UserError, closest
from nearpeak.grouping import firsts, grouped
from nearpeak.numbers import count, extent, in_brackets, number, percent, spread, unit
from nearpeak.results.best import best_point
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import is_defect
from nearpeak.results.names import case, label, loses, no_fraction, reference, status
from nearpeak.results.order import no_mpi
from nearpeak.results.results import CeilingPoint, Cell, Judgement, Results
from nearpeak.terms.amounts import parse_amount
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import QUOTED_BYTES
from nearpeak.terms.identity import CEILING, Case, Place, Who
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.path import is_named
from nearpeak.terms.sizes import format_seconds, format_sizes, parse_bytes
from nearpeak.terms.subjects import Subject

FORM = re.compile(
    r"(?:(?P<library>[^,]+),)?(?P<path>[^,:]+):(?P<figure>[^:<>]+)(?::(?P<size>[^:<>]+))?"
    r"(?P<relation>[<>]=)(?P<amount>[^<>=]+?)(?P<strict>\s+strict)?\s*"
)
FRACTION = re.compile(
    r"(?P<number>\d*\.?\d+)\s*(?P<percent>%?)\s*(?P<of>|of\s+ceiling|of\s+theoretical)"
)
# The reason why a study has no path of this id, though there is one; None: no such path exists.
WhyNot = Callable[[str], str | None]
OF_CEILING, OF_THEORETICAL = "of ceiling", "of theoretical"  # what a fraction is one of
FRACTIONS = (OF_CEILING, OF_THEORETICAL)
SCALE = {"": 1, "%": 100}


@dataclass(frozen=True)
class Bound:
    """The value that a figure must reach."""

    amount: float
    unit: str  # of the figure: "GB/s", "M/s", "us", "ratio"; or what it is a fraction of
    at_most: bool  # else: at least
    strict: bool = False  # the whole interval must reach it; else: the median

    def holds(self, value: float) -> bool:
        """True if a value reaches it."""
        return value <= self.amount if self.at_most else value >= self.amount


@dataclass(frozen=True)
class Requirement:
    """One path and benchmark, or such paths, and the bound there."""

    text: str  # as it was given; of one of the paths that fit a pattern, with its name
    # As the tables name it, "openmpi@dmabuf-off", or "ceiling"; None: all libraries of the study.
    library: str | None
    path: str  # or a pattern: "host-gpu pair *"
    figure: str  # "bw", "mbw_mr mr"
    size: int | None  # of a message, or of a problem; None: where the ceiling is at its best
    bound: Bound


def parse_requirement(text: str) -> Requirement:
    """The requirement that `[LIBRARY,]PATH:BENCHMARK[:SIZE]>=AMOUNT[ strict]` means; UserError for
    anything else. AMOUNT is a fraction, or a figure with its unit; `<=` is for times."""
    match = FORM.fullmatch(text)
    if match is None:
        raise UserError(
            f"{text!r} is not a requirement: write 'PATH:BENCHMARK:SIZE>=FRACTION', like "
            "'host-host same-numa:bw:16M>=0.9', or a figure in place of FRACTION, like >=11GB/s "
            "or <=12us; without SIZE it is for the size where the ceiling is best; 'LIBRARY,' or "
            "'ceiling,' before PATH limits it to that one"
        )
    parts = {name: part and part.strip() for name, part in match.groupdict().items()}
    return Requirement(
        text=text,
        library=parts["library"],
        path=parts["path"],
        figure=parts["figure"],
        size=parse_bytes(parts["size"]) if parts["size"] else None,
        bound=_bound(
            parts["amount"], at_most=parts["relation"] == "<=", strict=bool(parts["strict"])
        ),
    )


def _bound(text: str, *, at_most: bool, strict: bool) -> Bound:
    share = FRACTION.fullmatch(text)
    amount, measure = _fraction(share) if share else parse_amount(text) or (0.0, "")
    fraction = measure in FRACTIONS
    if not 0 < amount <= (1 if fraction else math.inf):
        raise UserError(
            f"{text!r} is neither a fraction nor a figure: write a fraction above 0 and up to 1, "
            "like 0.9 or 90% (of the ceiling) or 80% of theoretical; or a number with GB/s, MB/s, "
            "kB/s, M/s, ms, us or ns, like 11GB/s"
        )
    if at_most and fraction:
        raise UserError(f"a fraction needs >=: write >={text}")
    return Bound(amount, measure, at_most, strict)


def _fraction(share: re.Match[str]) -> tuple[float, str]:
    base = " ".join(share["of"].split()) or OF_CEILING
    return float(share["number"]) / SCALE[share["percent"]], base


def check(
    requirements: Iterable[Requirement],
    subjects: Sequence[Subject],
    why_not: WhyNot = lambda _path: None,
    left_out: Sequence[LeftOut] = (),
) -> None:
    """UserError for a requirement that names nothing of what is measured, with what there is, or
    that a study left it out."""
    unmeasured = [path for o in left_out for path in (*o.paths, *filter(None, [o.path]))]
    for wanted in _on_each_path(requirements, subjects, unmeasured):
        try:
            _named(wanted, subjects, why_not)
        except UserError as error:
            benchmark = wanted.figure.split()[0]
            parts = (o for o in left_out if o.holds(wanted.path, benchmark, {}, wanted.library))
            left = next(parts, None)
            raise (
                error
                if left is None
                else UserError(
                    f"--require {wanted.text!r}: the study left out {left.label}, as its budget"
                    f" was too short: --budget {format_seconds(left.budget_seconds)} has it"
                )
            ) from None


def _on_each_path(
    requirements: Iterable[Requirement], subjects: Sequence[Subject], more: Iterable[str] = ()
) -> list[Requirement]:
    """The requirements; in place of one with a pattern, one for each path that fits it, of those
    measured and of `more`, if any does."""
    paths = dict.fromkeys([*(subject.place.path for subject in subjects), *more])
    return [
        replace(wanted, text=wanted.text.replace(wanted.path, path, 1), path=path)
        for wanted in requirements
        for path in [path for path in paths if is_named(path, wanted.path)] or [wanted.path]
    ]


def _named(
    wanted: Requirement, subjects: Sequence[Subject], why_not: WhyNot = lambda _path: None
) -> list[Subject]:
    """The subjects that a requirement names: figures of libraries; of the ceiling where it says so,
    or where no library has such a figure. UserError when there is none."""
    try:
        matches = _find(wanted, subjects, why_not)
        for subject in matches:
            _check_bound(wanted, subject)
        _check_size(wanted, matches)
    except UserError as error:
        raise UserError(f"--require {wanted.text!r}: {error}") from None
    return matches


def _find(wanted: Requirement, subjects: Sequence[Subject], why_not: WhyNot) -> list[Subject]:
    labels = dict.fromkeys(subject.who.label for subject in subjects)
    if wanted.library not in (None, *labels):
        raise UserError(
            f"the study has no library {wanted.library!r}{closest(str(wanted.library), labels)}"
        )
    paths = grouped(subjects, lambda subject: subject.place.path)
    if wanted.path not in paths:
        reason = why_not(wanted.path)
        other = f": {reason}" if reason else closest(wanted.path, paths)
        raise UserError(f"the study has no path {wanted.path!r}{other}")
    on_path = [subject for subject in paths[wanted.path] if _may_be(subject, wanted.library)]
    matches = [subject for subject in on_path if subject.curve.figure == wanted.figure]
    missing, of_ceiling = NOT_MEASURED[wanted.library == CEILING.label]
    if not on_path:
        raise UserError(f"{missing} measured on that path")
    if not matches:
        figures = dict.fromkeys(subject.curve.figure for subject in on_path)
        raise UserError(
            f"{wanted.figure!r} is not measured {of_ceiling}on that path"
            f"{closest(wanted.figure, figures)}"
        )
    return [subject for subject in matches if subject.who != CEILING] or matches


# Of a library, and of the ceiling.
NOT_MEASURED = [("no library is", ""), ("the ceiling is not", "of the ceiling ")]


def _may_be(subject: Subject, library: str | None) -> bool:
    """True of the ceiling if it is named, of libraries if one of them is."""
    return library is None or (subject.who == CEILING) == (library == CEILING.label)


def _check_bound(wanted: Requirement, subject: Subject) -> None:
    bound, figure = wanted.bound, wanted.figure
    lower = subject.better == "lower"
    problems = {
        "the ceiling cannot be a fraction of itself": (
            bound.unit == OF_CEILING and subject.who == CEILING
        ),
        f"{figure} has no ceiling to be a fraction of": (
            bound.unit == OF_CEILING and not subject.has_ceiling
        ),
        f"no theoretical rate of {figure} is known on that path (only rates in one direction of"
        " a link have one, like bw)": (
            bound.unit == OF_THEORETICAL and subject.theoretical_gbs is None
        ),
        f"{figure} is measured in {subject.unit}, and {subject.better} is better": (
            bound.unit not in FRACTIONS and (bound.unit, bound.at_most) != (subject.unit, lower)
        ),
    }
    if problem := next((problem for problem, met in problems.items() if met), None):
        raise UserError(f"{problem}: write {'<=' if lower else '>='}NUMBER{subject.unit}")


def _check_size(wanted: Requirement, matches: Sequence[Subject]) -> None:
    sizes = sorted({size for subject in matches for size in subject.sizes})
    without = [s for s in matches if s.who != CEILING and not s.has_ceiling]
    if wanted.size is None and without:
        like = min(sizes, key=lambda size: (size != QUOTED_BYTES, size))
        raise UserError(
            f"{wanted.figure} has no ceiling that chooses the size: name a size, like :{like}"
        )
    if wanted.size is None or wanted.size in sizes:
        return
    if not sizes:
        raise UserError(f"the program chooses the size of {wanted.figure}: leave the size out")
    unit = matches[0].x_unit
    raise UserError(
        f"{wanted.figure} is not measured at {extent(wanted.size, unit)} there: "
        f"choose one of {format_sizes(sizes)}, or measure more" + " with --sizes" * (unit == "B")
    )


def judge(
    requirements: Iterable[Requirement], subjects: Sequence[Subject], results: Results
) -> list[Judgement]:
    """The judgement of each library, for each kind of buffers; one at least for each requirement.
    `subjects` are those that the requirements were checked with. A figure that was not measured is
    missed."""
    measured = _Measured(results)
    wanted_on_paths = _on_each_path(requirements, subjects)
    return [judged for wanted in wanted_on_paths for judged in _judge(wanted, subjects, measured)]


def _judge(
    requirement: Requirement, subjects: Sequence[Subject], measured: "_Measured"
) -> list[Judgement]:
    named = _named(requirement, subjects)
    # Libraries other than MPI are measured where they can be, and owe nothing elsewhere.
    with_figure = {subject.who for subject in named}
    everyone = dict.fromkeys(subject.who for subject in subjects)
    owners = [
        who
        for who in everyone
        if who != CEILING and requirement.library in (None, who.label)
        if who in with_figure or who.library not in measured.no_mpi or requirement.library
    ]
    if named[0].who == CEILING:
        owners = [CEILING]
    return [
        measured.judgement(requirement, who, subject, _name(subject, named))
        for subject, who in product(_first_curves(named), owners)
    ]


def _name(subject: Subject, named: Iterable[Subject]) -> str:
    """The name of its curve; in full, if it is of a library, and libraries have further curves of
    the same name and buffers, with other axes."""
    curve = subject.curve
    others = [
        other.curve
        for other in named
        if other.who != CEILING and other.curve.buffers == curve.buffers
    ]
    plain = {other for other in others if staging(other.axes) is None} - {curve}
    return label(curve) if plain and subject.who != CEILING else case(curve)


def _first_curves(named: Sequence[Subject]) -> Iterable[Subject]:
    """For each kind of buffers the first curve, which has the axes that tables show, with the sizes
    of all libraries; one that the benchmark stages only where no other is."""
    direct_first = sorted(named, key=lambda subject: staging(subject.curve.axes) is not None)
    return firsts(direct_first, lambda subject: subject.curve.buffers).values()


class _Figure(NamedTuple):
    """A measured figure, in the unit of the bound."""

    value: float
    ci95: tuple[float, float] | None
    range: tuple[float, float]
    words: str
    defect: str = ""  # why it is not to be believed


class _Unmeasured(Exception):
    """The reason why there is no figure."""


class _Measured:
    """The figures that results have of a subject."""

    def __init__(self, results: Results) -> None:
        self._cells = {(cell.who, cell.place, cell.case): cell for cell in results.timed}
        self._ceilings = Ceilings(results.ceilings)
        self._failures = results.failures
        self.no_mpi = no_mpi(results)
        self._clause = "; other work took the ranks' time" if results.loaded else ""

    def judgement(
        self, requirement: Requirement, who: Who, subject: Subject, name: str
    ) -> Judgement:
        """The judgement of a library, or of the ceiling. `name`: of the figure, for people."""
        made = Judgement(
            requirement=requirement.text,
            path=requirement.path,
            who=who,
            met=False,
            unit=requirement.bound.unit,
            words="",
        )
        try:
            figure = self._figure(requirement, who, subject, name)
        except _Unmeasured as reason:
            made.words = f"missed it: {reason}"
            return made
        made.met, verdict = _judged(requirement.bound, figure)
        made.words = f"{verdict}: {figure.words}{self._clause}"
        made.value, made.ci95, made.range = figure.value, figure.ci95, figure.range
        return made

    def _figure(self, requirement: Requirement, who: Who, subject: Subject, name: str) -> "_Figure":
        x = requirement.size
        if x is None:
            x = self._best_x(who, subject, name)
        sized = f"{name} at {extent(x, subject.x_unit)}"
        wanted = subject.curve.at(x)
        if who == CEILING:
            point = self._ceilings.point(subject.place, wanted)
            if point is None:
                raise self._without_ceiling(sized, subject.place)
            return _of_ceiling(point, requirement.bound, subject, sized)
        cell = self._cells.get((who, subject.place, wanted))
        if cell is None:
            raise _Unmeasured(f"{sized} was not measured{self._staged(who, subject.place, wanted)}")
        if cell.median is None:
            raise _Unmeasured(f"{sized} was not measured ({_ended(cell)})")
        if requirement.bound.unit == OF_CEILING:
            if cell.no_fraction:
                raise _Unmeasured(f"{sized} has no fraction: {no_fraction(cell)}")
            if cell.fraction is None:
                raise self._without_ceiling(sized, subject.place)
        return _of_cell(cell, cell.median, requirement.bound, subject, sized)

    def _best_x(self, who: Who, subject: Subject, name: str) -> int:
        """The size where the ceiling is best, of those that libraries were measured at, or tried to
        be."""
        points = self._ceilings.curve(subject.place, subject.curve)
        sizes = {
            measured.x
            for _, place, measured in self._cells
            if (place, measured.curve) == (subject.place, subject.curve)
        }
        best = best_point(point for point in points if who == CEILING or point.case.x in sizes)
        if best is None:
            raise self._without_ceiling(name, subject.place)
        return best.case.x

    def _staged(self, who: Who, place: Place, wanted: Case) -> str:
        """The note on a library that has no cell where others have one: what it has instead."""
        staged = {
            (owner, other_place, other.figure, other.buffers)
            for owner, other_place, other in self._cells
            if staging(other.axes) is not None
        }
        mine = (who, place, wanted.figure, wanted.buffers)
        return ", but staged by the benchmark" if mine in staged else ""

    def _without_ceiling(self, name: str, place: Place) -> _Unmeasured:
        """The reason: no ceiling was measured. It has the endings of failed launches of a place."""
        ended = Counter(
            failure.status
            for failure in self._failures
            if (failure.who, failure.place) == (CEILING, place)
        )
        endings = [f"{ending} in {count(times, 'launch')}" for ending, times in ended.items()]
        return _Unmeasured(f"no ceiling of {name} was measured{in_brackets(', '.join(endings))}")


def _ended(cell: Cell) -> str:
    """`crashed in 6 launches`: why a cell has no figure."""
    return " in ".join([status(cell), *[count(cell.failed, "launch")] * (cell.failed > 0)])


Span = tuple[float, float]


def _of_cell(cell: Cell, median: float, bound: Bound, subject: Subject, name: str) -> _Figure:
    """The figure of a library, whose median and, of a fraction, ceiling are known."""
    sized = ", ".join(filter(None, [name, loses(cell)]))
    if bound.unit != OF_CEILING:
        return _rate(median, cell.ci95, cell.range, bound, subject, sized)
    fraction = cell.fraction or 0.0
    between = spread(cell.fraction_ci95, cell.fraction_range, 100, cell.fraction_blocks)
    name_of_ceiling = reference(cell.ceiling)
    return _Figure(
        fraction,
        cell.fraction_ci95,
        cell.fraction_range or (fraction, fraction),
        f"{percent(fraction)} % of the {name_of_ceiling} ({between}), {sized}",
        f"the {name_of_ceiling} has a defect there" if is_defect(cell) else "",
    )


def _of_ceiling(point: CeilingPoint, bound: Bound, subject: Subject, name: str) -> _Figure:
    figure = _rate(point.value, point.ci95, point.range, bound, subject, name)
    if point.above_memory is None:
        return figure
    copied = f"{number(point.above_memory)} {unit(point.unit)}"
    return figure._replace(defect=f"it is a defect: the memory copies {copied}")


def _rate(
    value: float, ci95: Span | None, full: Span | None, bound: Bound, subject: Subject, name: str
) -> _Figure:
    """The figure in its own unit, or as a fraction of the theoretical rate of its link."""
    full = full or (value, value)
    rate = subject.theoretical_gbs
    if bound.unit != OF_THEORETICAL or rate is None:
        text = f"{number(value)} {unit(subject.unit)} ({spread(ci95, full)})"
        return _Figure(value, ci95, full, f"{text}, {name}")
    ci95 = ci95 and (ci95[0] / rate, ci95[1] / rate)
    full = (full[0] / rate, full[1] / rate)
    text = f"{percent(value / rate)} % of the theoretical {number(rate)} GB/s"
    return _Figure(value / rate, ci95, full, f"{text} ({spread(ci95, full, 100)}), {name}")


def _judged(bound: Bound, figure: _Figure) -> tuple[bool, str]:
    """The verdict on a figure: True if it reaches the bound, and the text for that."""
    span = figure.ci95 or figure.range
    name = "interval" if figure.ci95 else "range of its launches"
    beyond = "above" if bound.at_most else "below"
    reaching = [bound.holds(end) for end in span]
    # The first that applies.
    missed = {
        f"though the {name} reaches it": not bound.holds(figure.value) and any(reaching),
        "": not bound.holds(figure.value),
        "as it has no 95 % interval (strict)": bound.strict and figure.ci95 is None,
        f"as the interval reaches {beyond} (strict)": bound.strict and not all(reaching),
        f"as {figure.defect}": bool(figure.defect),
    }
    for reason, applies in missed.items():
        if applies:
            return False, ", ".join(filter(None, ["missed it", reason]))
    if figure.ci95 is None and span[0] == span[1]:
        return True, "met it by one value alone, measure more"
    if all(reaching):
        return True, "met it"
    return True, f"met it by its median, but the {name} reaches {beyond}"
