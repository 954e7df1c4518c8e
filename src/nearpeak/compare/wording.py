# SPDX-License-Identifier: Apache-2.0
"""Sentences about a comparison."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from nearpeak.compare.compared import (
    CellChange,
    Change,
    Compared,
    CurveChange,
    Difference,
    Distance,
    End,
    Failing,
    Missing,
    PlaceChange,
    Side,
    Unmatched,
)
from nearpeak.grouping import collected, grouped
from nearpeak.numbers import count, extent, in_brackets, number, percent, probability, span, unit
from nearpeak.results.names import label
from nearpeak.statistics.counts import MOST_NEEDED
from nearpeak.statistics.intervals import all_known
from nearpeak.statistics.levels import ERROR_RATE
from nearpeak.statistics.strata import ALONE
from nearpeak.statistics.verdicts import FASTER, SLOWER, UNDECIDED
from nearpeak.terms.fingerprints import shown
from nearpeak.terms.identity import CEILING, Curve
from nearpeak.terms.sizes import format_seconds

_ENOUGH = 3  # sessions of a side, from which the measured scatter replaces the assumed one
REGRESSED = "regressed"  # slower, by more than the tolerance
NO_SESSION = "no session with a figure"
_ENDS = 3  # kinds of failure named in one sentence
_ALIKE = 1.02  # of ratios that differ by less, the largest size is named
_NAMED = 6  # missing curves named in one sentence
_NO_DISTANCE = (
    "the sides have no core-to-core latency in common: measure more sessions of each side, until"
    " they have"
)
_LACKS = {"control": "no control", "session": "one session"}

_BECAUSE = {
    "control": "'no control': with a single session on a side, a library gets a verdict only if its"
    " ceiling was measured beside it. Measure ceilings too, or more sessions.",
    "session": "'one session': with a single session on a side, a ceiling gets no verdict.",
}


def last_line(compared: Compared) -> str:
    """The conclusion, after the exit status of the command if that is not 0."""
    text = conclusion(compared)
    if not compared.status:
        return text
    return f"Exit status {compared.status}: {text[0].lower()}{text[1:]}"


def conclusion(compared: Compared) -> str:
    """The regressions, what is not measured any more, and what could be judged."""
    regressions = "; ".join(_regressions(compared))
    verdict = f"Regressed: {regressions}." if regressions else _proven(compared)
    gone = _gone(compared)
    # What must not be missing comes before what is proven.
    first = bool(regressions) or compared.allow_missing or not gone
    often = [one for one in compared.failures if not one.regressed and _fails_more_often(one)]
    sentences = [
        *([verdict, gone] if first else [gone, verdict]),
        *_all_of(often, "failed more often, but not proven to have regressed."),
    ]
    return " ".join(filter(None, sentences))


def _regressions(compared: Compared) -> Iterator[str]:
    regressed = [failing for failing in compared.failures if failing.regressed]
    by_data = grouped(regressed, lambda failing: failing.wrong_data)
    slower = [place for place in compared.places if any(one.regressed for one in place.changes)]
    if slower:
        yield f"{', '.join(map(_slower, slower))} (tolerance {tolerance(compared)})"
    yield from _all_of(by_data.get(True, []), "wrong data")
    yield from _all_of(by_data.get(False, []), "fails more often")


def _slower(place: PlaceChange) -> str:
    """`mpich on gpu-gpu nvlink is 0.665 times as fast`; `at worst` if only a part regressed."""
    if place.change.regressed:
        return f"{subject(place)} is {_times_as_fast(place.change)}"
    lowest = min(
        (change for change in place.changes if change.regressed), key=lambda change: change.ratio
    )
    return f"{subject(place)} is {_times_as_fast(lowest)} at worst"


def _times_as_fast(change: Change) -> str:
    return f"{number(change.ratio)} times as fast"


def _all_of(parts: Iterable[PlaceChange | Failing], event: str) -> Iterator[str]:
    if subjects := ", ".join(dict.fromkeys(map(subject, parts))):
        yield f"{subjects}: {event}"


def _gone(compared: Compared) -> str:
    names = missing(compared)
    if not names:
        return ""
    rest = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    listed = "; ".join([*names[:_NAMED], *rest])
    if compared.allow_missing:
        return f"Not measured now, which is allowed: {listed}."
    return f"Not measured now: {listed}. Measure it, or accept it with --allow-missing."


def _proven(compared: Compared) -> str:
    if not compared.judged:
        return f"Nothing can be judged: {_unjudged(compared)}."
    curves = [curve.change for place in compared.places for curve in place.curves]
    judged = sum(change.verdict != UNDECIDED for change in curves)
    text = f"No slowdown by more than {tolerance(compared)} was proven."
    text += f" Judged: {judged} of {count(len(curves), 'curve')}."
    if cases := sum(unmatched.cases for unmatched in compared.unmatched):
        text += f" Not compared: {count(cases, 'case')} that the sides do not have in common."
    return text


def _unjudged(compared: Compared) -> str:
    """The reason why nothing can be judged, and the remedy."""
    if not compared.places:
        return "the sides have no figure in common"
    if all(place.inseparable for place in compared.places):
        return _NO_DISTANCE
    remedy = f"Measure {_ENOUGH} sessions of each side"
    if compared.tells_from is None:
        return f"one launch of each does not show how launches and sessions scatter. {remedy}"
    single, most = _single(compared), _largest(compared)
    if not single:
        remedy = "Measure more sessions of each side"
    if most:
        too_few = "one session of each side" if single else "so few sessions"
        change = f"{subject(most)} is {_times_as_fast(most.change)}"
        return f"{change}, but {too_few} cannot prove it. {remedy}"
    if single:
        return (
            "one session on each side does not separate a change from the scatter of sessions."
            f" {remedy}"
        )
    return f"the scatter of launches and sessions hides any change. {remedy}"


def _largest(compared: Compared) -> PlaceChange | None:
    """The place that changed most, of those whose own interval, not adjusted, excludes 1."""
    changed = [place for place in compared.places if _excludes_one(place.change.ci95)]
    return max(changed, key=lambda place: abs(math.log(place.change.ratio)), default=None)


def _excludes_one(interval: tuple[float, float] | None) -> bool:
    return interval is not None and not interval[0] <= 1 <= interval[1]


def _single(compared: Compared) -> bool:
    return compared.count("old") == compared.count("new") == 1


def subject(part: PlaceChange | Failing | Missing | Unmatched) -> str:
    """`mpich on gpu-gpu nvlink`."""
    return f"{part.who.label} on {part.place.path}"


def verdict(change: Change) -> str:
    """The verdict for a table, or the reason for its absence if that is known."""
    return _LACKS[change.lacks] if change.lacks else change.verdict


def missing(compared: Compared, *, failed: bool = False) -> list[str]:
    """The widest parts that the new side lacks, with the budget that would measure one if a budget
    left out all of it: `path gpu-gpu nvlink`, `library mpich`. `failed`: those that failed."""
    curves = [curve for curve in compared.missing if curve.failed == failed]
    budgets = collected((_lacking(curve), curve.budget_seconds) for curve in curves)
    return [f"{name}{_left_out(needed)}" for name, needed in budgets.items()]


def _left_out(budgets: Sequence[float | None]) -> str:
    seconds = all_known(budgets)
    if not seconds:
        return ""
    return f" (left out by the budget: --budget {format_seconds(max(seconds))} has it)"


def _lacking(curve: Missing) -> str:
    if curve.lacks == "path":
        return f"path {curve.place.path}{in_brackets(curve.place.held)}"
    if curve.lacks == "library":
        return "all ceilings" if curve.who == CEILING else f"library {curve.who.label}"
    if curve.lacks == "benchmark":
        return f"benchmark {curve.curve.benchmark}"
    return f"{subject(curve)}, {label(curve.curve)}"


def tolerance(compared: Compared) -> str:
    """`5 %`."""
    return f"{100 * compared.tolerance:.6g} %"


def side(compared: Compared, which: Side) -> str:
    """`3 sessions in study-1 and 2 other folders`."""
    of_side = [session for session in compared.sessions if session.side == which]
    if not of_side:
        return NO_SESSION
    folders = list(dict.fromkeys(session.folder for session in of_side))
    others = f" and {count(len(folders) - 1, 'other folder')}" if len(folders) > 1 else ""
    return f"{count(len(of_side), 'session')} in {folders[0]}{others}"


def limits(compared: Compared) -> Iterator[str]:
    """Yields the reach of a typical interval, and what else limits the verdicts."""
    if compared.tells_from is None:
        return
    old, new = compared.count("old"), compared.count("new")
    yield (
        f"{count(old, 'session')} before, {new} now: in a typical row by itself, scatter hides a"
        f" change below about {percent(compared.tells_from)} %. All rows are judged"
        " together, so a verdict takes more."
    )
    if _single(compared):
        yield (
            "One session does not show how far sessions scatter, so an assumed scatter is used:"
            " only a much larger change gets a verdict. A change of a library gets no verdict where"
            " its ceiling changed in the same way."
        )
    lacking = {change.lacks for place in compared.places for change in place.changes}
    yield from (text for lack, text in _BECAUSE.items() if lack in lacking)
    if min(old, new) < _ENOUGH:
        yield f"Measure {_ENOUGH} sessions of each side to tell more."
    yield from _disturbances(compared)


def _disturbances(compared: Compared) -> Iterator[str]:
    loaded = [session for session in compared.sessions if session.loaded]
    if loaded:
        folders = ", ".join(dict.fromkeys(session.folder for session in loaded))
        yield (
            f"Other work took the ranks' time in {count(len(loaded), 'session')} ({folders}):"
            " measure again when the machine is idle."
        )
    curves = [curve.change for place in compared.places for curve in place.curves]
    if wide := sum(map(_differs_undecided, curves)):
        yield (
            f"Undecided, though beyond the scatter of launches: {wide} of"
            f" {count(len(curves), 'curve')}. The scatter of sessions may explain the difference."
        )
    if moved := dict.fromkeys(place.place.path for place in compared.places if place.moved):
        yield f"Most core-to-core latencies are now others on {', '.join(moved)} (see below)."


def _differs_undecided(change: Change) -> bool:
    """True if an undecided change is more than the scatter of launches."""
    return change.verdict == UNDECIDED and _excludes_one(change.alone)


def values(difference: Difference) -> str:
    """`580.159 -> 590.1`, shortened."""
    return " -> ".join(shown(difference.old, difference.new))


def difference(one: Difference) -> str:
    """`driver nvidia: 580.159 -> 590.1`."""
    return f"{one.part} {one.name}: {values(one)}"


def figures(cell: CellChange) -> str:
    """`2.12 -> 0.573 µs`."""
    return f"{number(cell.old)} -> {number(cell.new)} {unit(cell.unit)}"


def sizes(curve: CurveChange) -> str:
    """`faster at 4 KiB (2.12 -> 0.573 µs), undecided elsewhere`; "" if no size is faster or
    slower, or if there is only one."""
    cells = grouped(
        curve.cells, lambda cell: REGRESSED if cell.change.regressed else cell.change.verdict
    )
    parts = [
        f"{judged} at {', '.join(map(_size, cells.pop(judged)))}"
        for judged in (FASTER, SLOWER, REGRESSED)
        if judged in cells
    ]
    if not parts or len(curve.cells) == 1:
        return ""
    return ", ".join(parts + [f"{' or '.join(cells)} elsewhere"] * bool(cells))


def _size(cell: CellChange) -> str:
    return f"{extent(cell.case.x, cell.x_unit)} ({figures(cell)})"


def worst(place: PlaceChange) -> CellChange:
    """The case of a place that lost most, of those that regressed where there are any; of several
    that lost about as much, the largest."""
    cells = [cell for curve in place.curves for cell in curve.cells]
    regressed = [cell for cell in cells if cell.change.regressed]
    judged = regressed or cells
    lowest = min(cell.change.ratio for cell in judged)
    alike = [cell for cell in judged if cell.change.ratio <= lowest * _ALIKE]
    return max(alike, key=lambda cell: (cell.case.x, -cell.change.ratio))


def possible_reason(place: PlaceChange, compared: Compared) -> str:
    """`its launches inherited other variables: OMPI_MCA_btl: none -> tcp`; "" if unknown."""
    variables = "; ".join(
        f"{one.name}: {values(one)}"
        for one in compared.differences
        if one.part == "variable" and one.name in place.reasons
    )
    return f"its launches inherited other variables: {variables}" if variables else ""


def likely_reason(place: PlaceChange, compared: Compared) -> str:
    """The same; else the path itself, or what changed meanwhile."""
    if inherited := possible_reason(place, compared):
        return inherited
    fraction = place.of_ceiling and place.of_ceiling.ci95
    if place.who != CEILING and fraction and fraction[0] <= 1 <= fraction[1]:
        return "the path became slower in the same way"
    changed = (one for one in compared.differences if one.part != "variable")
    return next((f"changed meanwhile: {difference(one)}" for one in changed), "")


def cases(part: PlaceChange | CurveChange) -> int:
    """Counts the cases of a place or a curve."""
    curves = part.curves if isinstance(part, PlaceChange) else [part]
    return sum(len(curve.cells) for curve in curves)


def distances(compared: Compared) -> list[str]:
    """The places where CPUs were at several distances, and how their figures are compared."""
    return [
        f"{subject(place)}: {', '.join(map(_distance, place.distances))}; {_at_distances(place)}"
        for place in compared.places
        if place.distances
    ]


def _at_distances(place: PlaceChange) -> str:
    if any(distance.range_ns is None for distance in place.distances):
        return "compared as measured"
    if place.inseparable:
        return f"not judged, as {_NO_DISTANCE}"
    ranges = " and ".join(_range(distance) for distance in place.distances if distance.compared)
    if not place.levelled:
        return f"compared at {ranges} alone"
    return (
        f"compared at {ranges}: in {place.levelled} of {count(cases(place), 'case')} a side has"
        f" fewer than {ALONE} launches there, so the others are converted to it"
    )


def _distance(distance: Distance) -> str:
    return f"{_range(distance)} ({distance.old} before, {distance.new} now)"


def _range(distance: Distance) -> str:
    return "unknown" if distance.range_ns is None else span(*distance.range_ns, "ns")


def failing_subject(failing: Failing) -> str:
    """The library, place and curve of a failure."""
    if failing.curve is None:
        return subject(failing)
    curve = msgspec.structs.replace(failing.curve, metric=failing.curve.benchmark)
    return f"{subject(failing)}, {label(curve)}"  # of all its metrics


def failure(failing: Failing) -> str:
    """The frequency of a failure, its kinds, and its verdict."""
    tries = collected((_ended(end, failing.curve), end.tries) for end in failing.new.ended)
    ends = Counter({kind: sum(numbers) for kind, numbers in tries.items()})
    kinds = ", ".join(f"{kind} ({count(times, 'time')})" for kind, times in ends.most_common(_ENDS))
    rest = f" and {len(ends) - _ENDS} more" if len(ends) > _ENDS else ""
    return (
        f"{failing_subject(failing)}: failed in {failing.new.failed} of"
        f" {count(failing.new.tried, 'block')} (before: {failing.old.failed} of"
        f" {failing.old.tried}): {kinds}{rest}; {_counted(failing)}"
    )


def _ended(end: End, curve: Curve | None) -> str:
    """`crashed in bw at 4 KiB`."""
    if end.case is None:
        return end.status
    benchmark = "" if curve else f" in {end.case.benchmark}"
    size = f" at {extent(end.case.x, end.x_unit)}" if end.case.x else ""
    return f"{end.status}{benchmark}{size}"


def _fails_more_often(failing: Failing) -> bool:
    """True if it fails more often than before, significant or not."""
    return failing.new.failed * failing.old.tried > failing.old.failed * failing.new.tried


def _counted(failing: Failing) -> str:
    p = f"adjusted p {probability(failing.p_adjusted)}"
    if failing.wrong_data:
        return "regressed: wrong data now, none before"
    if failing.regressed:
        always = failing.p_adjusted > ERROR_RATE
        return "regressed: in every block now, in none before" if always else f"regressed, {p}"
    if not failing.old.tried:
        return "not tried before"
    if not _fails_more_often(failing):
        return "no more often than before"
    rare, needed = "few", f"about {failing.needed}"
    if failing.needed is None:
        rare, needed = "rare", f"more than {MOST_NEEDED}"
    return f"too {rare} to judge, {p}: {needed} blocks of each side would be needed"
