# SPDX-License-Identifier: Apache-2.0
"""Text about a comparison that the terminal, the page and JUnit XML share."""

from collections import Counter, defaultdict
from collections.abc import Iterable

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
    Ratio,
    Side,
)
from nearpeak.numbers import (
    count,
    extent,
    in_short,
    interval,
    number,
    percent,
    probability,
    span,
    unit,
)
from nearpeak.results.names import label
from nearpeak.statistics.counts import MOST_NEEDED
from nearpeak.statistics.levels import ERROR_RATE
from nearpeak.statistics.strata import ALONE
from nearpeak.statistics.verdicts import FASTER, SLOWER, UNDECIDED
from nearpeak.terms.fingerprints import shown
from nearpeak.terms.identity import CEILING, Curve, Place
from nearpeak.terms.sizes import format_seconds

DISTANCES = (
    "How far apart the CPUs of neighbouring ranks were (the time of a cache line there and back),"
    " in how many measurements, and how figures are compared for it:"
)
FRACTIONS = "Cases without a ceiling are in new/old alone:"
NO_DIFFERENCE = (
    "Machine, driver, libraries, build and inherited variables: no difference is recorded."
)
_NONE_IN_COMMON = "the sides have no figure in common"
_NO_DISTANCE = (
    "the sides have no distance between CPUs in common: measure more sessions of each side, until"
    " they have"
)
ENDS = 3  # kinds of failure named in one sentence
NAMED = 6  # missing curves named in one sentence
_LACKS = {"control": "no control", "session": "one session"}
ENOUGH = 3  # sessions of a side, from which the measured scatter replaces the assumed one


def by_place(compared: Compared) -> list[tuple[Place, list[PlaceChange]]]:
    """The libraries of each place, then its ceiling, in the order of the studies."""
    changes: dict[Place, list[PlaceChange]] = {}
    for change in compared.places:
        changes.setdefault(change.place, []).append(change)
    return list(changes.items())


def conclusion(compared: Compared) -> str:
    """The regressions, and the curves that are not measured any more."""
    allowed = tolerance(compared)
    gone = _in_short(_names(missing for missing in compared.missing if not missing.failed))
    places = list(filter(_has_regressed, compared.places))
    names = ", ".join(f"{place.who.label} on {place.place.path}" for place in places)
    parts = [f"{names}: slower by more than {allowed}"] if places else []
    regressed = [failure for failure in compared.failures if failure.regressed]
    if any(failing.wrong_data for failing in regressed):
        parts.append(
            f"{_owners(failing for failing in regressed if failing.wrong_data)}: wrong data"
        )
    if any(not failing.wrong_data for failing in regressed):
        often = _owners(failing for failing in regressed if not failing.wrong_data)
        parts.append(f"{often}: fails more often")
    unproven = [
        failure
        for failure in compared.failures
        if not failure.regressed and _fails_more_often(failure)
    ]
    failed = (
        f" Failed more often, but not proven to have regressed: {_owners(unproven)}."
        if unproven
        else ""
    )
    if parts:
        not_measured = f" Not measured now: {gone}." if gone else ""
        return f"Regressed: {'; '.join(parts)}.{not_measured}{failed}"
    if gone and not compared.allow_missing:
        accept = "Measure it, or accept it with --allow-missing."
        return f"Not measured now: {gone}. {accept} {_proven(compared)}{failed}"
    nothing = "Nothing regressed. " if compared.judged else ""
    not_measured = f" Not measured now, which is allowed: {gone}." if gone else ""
    return f"{nothing}{_proven(compared)}{not_measured}{failed}"


def _has_regressed(place: PlaceChange) -> bool:
    return any(change.regressed for change in place.changes)


def last_line(compared: Compared, status: int) -> str:
    """The conclusion, after the exit status of the command if that is not 0."""
    text = conclusion(compared)
    return f"Exit status {status}: {text[0].lower()}{text[1:]}" if status else text


def _owners(failures: Iterable[Failing]) -> str:
    return ", ".join(
        dict.fromkeys(f"{failing.who.label} on {failing.place.path}" for failing in failures)
    )


def _proven(compared: Compared) -> str:
    if not compared.places:
        return f"Nothing can be judged: {_NONE_IN_COMMON}."
    if not compared.judged and _apart_everywhere(compared):
        return f"Nothing can be judged: {_NO_DISTANCE}."
    if not compared.judged and single(compared):
        return (
            "Nothing can be judged: with one session on each side, a change cannot be told from the"
            f" scatter of sessions. Measure {ENOUGH} sessions of each side."
        )
    if not compared.judged:
        return (
            "Nothing can be judged: no change can be told from the scatter of launches and"
            " sessions. Measure more sessions of each side."
        )
    return f"No slowdown by more than {tolerance(compared)} was proven. {judged(compared)}"


def _apart_everywhere(compared: Compared) -> bool:
    return all(place.inseparable for place in compared.places)


def single(compared: Compared) -> bool:
    """True if each side has only one session: the scatter of sessions is then an assumed one."""
    return compared.count("old") == compared.count("new") == 1


def verdict(change: Change) -> str:
    """The verdict for a table, or the reason for its absence if that is known."""
    return _LACKS[change.lacks] if change.lacks else change.verdict


def missing(compared: Compared) -> list[str]:
    """The widest parts that the new side lacks: `path gpu-gpu nvlink`, `library mpich`."""
    failed = _names(missing for missing in compared.missing if missing.failed)
    return [
        *_names(missing for missing in compared.missing if not missing.failed),
        *(f"{name}: its launches failed" for name in failed),
    ]


def _names(curves: Iterable[Missing]) -> list[str]:
    """Each part once, with the budget that would measure it if a budget left out all of it."""
    budgets: dict[str, list[float | None]] = defaultdict(list)
    for missing in curves:
        budgets[_lacking(missing)].append(missing.budget_seconds)
    names = []
    for name, needed in budgets.items():
        budgets_s = [seconds for seconds in needed if seconds is not None]
        budget = (
            f"--budget {format_seconds(max(budgets_s))}" if len(budgets_s) == len(needed) else ""
        )
        names.append(f"{name} (left out by the budget: {budget} has it)" if budget else name)
    return names


def _lacking(missing: Missing) -> str:
    if missing.lacks == "path":
        held = missing.place.held
        return f"path {missing.place.path}" + (f" ({held})" if held else "")
    if missing.lacks == "library":
        return "all ceilings" if missing.who == CEILING else f"library {missing.who.label}"
    if missing.lacks == "benchmark":
        return f"benchmark {missing.curve.benchmark}"
    return f"{missing.who.label} on {missing.place.path}, {label(missing.curve)}"


def _in_short(names: list[str]) -> str:
    rest = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + rest


def judged(compared: Compared) -> str:
    """The number of curves with a verdict, and of cases that are not compared."""
    curves = [curve.change for place in compared.places for curve in place.curves]
    sure = sum(change.verdict != UNDECIDED for change in curves)
    share = portion(sure, len(curves), "curve")
    text = f"{share[0].upper()}{share[1:]} could be judged."
    if missing := sum(unmatched.cases for unmatched in compared.unmatched):
        text += (
            f" Not compared: {count(missing, 'case')} that only one side has, or that both measured"
            " differently."
        )
    return text


def portion(part: int, total: int, thing: str) -> str:
    """`none of 3 curves`, `2 of 3 curves`, `all 3 curves`, `both curves`, `the only curve`."""
    if part == total and part:
        every = {1: "the only", 2: "both"}.get(part, f"all {part}")
        return f"{every} {count(part, thing).partition(' ')[2]}"
    return f"{part or 'none'} of {count(total, thing)}" if total > 1 else f"no {thing}"


def tolerance(compared: Compared) -> str:
    """`5 %`."""
    return f"{100 * compared.tolerance:.6g} %"


def host(compared: Compared) -> str:
    """The hosts of the sessions."""
    hosts = dict.fromkeys(session.host for session in compared.sessions)
    return in_short([*hosts]) or "no session with a figure"


def side(compared: Compared, which: Side) -> str:
    """`3 sessions in study-1 and 2 other folders`."""
    of_side = [session for session in compared.sessions if session.side == which]
    if not of_side:
        return "no session with a figure"
    folders = list(dict.fromkeys(session.folder for session in of_side))
    others = f" and {count(len(folders) - 1, 'other folder')}" if len(folders) > 1 else ""
    return f"{count(len(of_side), 'session')} in {folders[0]}{others}"


def sessions(compared: Compared) -> str:
    """The least change that this number of sessions can prove, and the limits of the comparison."""
    old, new = compared.count("old"), compared.count("new")
    least = compared.tells_from
    if not compared.places:
        return f"Nothing is judged: {_NONE_IN_COMMON}."
    if least is None and _apart_everywhere(compared):
        return f"Nothing is judged: {_NO_DISTANCE}."
    if least is None:
        return (
            "Nothing is judged: one launch of each does not show how launches and sessions scatter."
            f" Measure {ENOUGH} sessions of each side."
        )
    text = (
        f"{count(old, 'session')} before, {new} now: a change below about {percent(least)} %"
        " cannot be told from the scatter of launches and sessions."
    )
    if single(compared):
        text += (
            " One session does not show how far sessions scatter, so an assumed scatter is used:"
            " only a much larger change gets a verdict. A change of a library gets no verdict where"
            " its ceiling changed in the same way."
        )
    text += _unfounded(compared)
    if min(old, new) < ENOUGH:
        text += f" Measure {ENOUGH} sessions of each side to tell more."
    return " ".join(
        filter(None, [text, _loaded(compared), _unexplained(compared), _moved(compared)])
    )


def _loaded(compared: Compared) -> str:
    """The sessions in which other work took the ranks' time, according to their studies."""
    loaded = [session for session in compared.sessions if session.loaded]
    if not loaded:
        return ""
    folders = ", ".join(dict.fromkeys(session.folder for session in loaded))
    return (
        f"Other work took the ranks' time in {count(len(loaded), 'session')} ({folders}): measure"
        " again when the machine is idle."
    )


def _unfounded(compared: Compared) -> str:
    """The changes that can have no verdict, with the remedy."""
    lacking = {change.lacks for place in compared.places for change in place.changes}
    text = ""
    if "control" in lacking:
        text += (
            " 'no control': with a single session on a side, a library gets a verdict only if its"
            " ceiling was measured beside it. Measure ceilings too, or more sessions."
        )
    if "session" in lacking:
        text += " 'one session': with a single session on a side, a ceiling gets no verdict."
    return text


def _moved(compared: Compared) -> str:
    """The places where most CPUs are at other distances now."""
    places = [place.place.path for place in compared.places if place.moved]
    if not places:
        return ""
    return (
        "The CPUs of the ranks are now mostly at another distance on"
        f" {', '.join(dict.fromkeys(places))} (see below)."
    )


def _unexplained(compared: Compared) -> str:
    """The undecided curves that differ by more than launches scatter."""
    curves = [curve.change for place in compared.places for curve in place.curves]
    wide = [
        change
        for change in curves
        if change.verdict == UNDECIDED
        and change.alone is not None
        and not change.alone[0] <= 1 <= change.alone[1]
    ]
    if not wide:
        return ""
    part = portion(len(wide), len(curves), "curve")
    differ, are = ("differs", "is") if len(wide) == 1 else ("differ", "are")
    return (
        f"{part[0].upper()}{part[1:]} {differ} by more than launches scatter, but {are} undecided:"
        " the scatter of sessions may explain the difference."
    )


def differences(compared: Compared) -> list[str]:
    """`driver nvidia: 580.159 -> 590.1`, shortened, for each difference."""
    return [
        f"{difference.part} {difference.name}: {values(difference)}"
        for difference in compared.differences
    ]


def values(difference: Difference) -> str:
    """`580.159 -> 590.1`, shortened."""
    return " -> ".join(shown(difference.old, difference.new))


def sizes(curve: CurveChange) -> str:
    """`faster at 4 KiB (2.12 -> 0.573 µs), undecided elsewhere`; "" if no size is faster or
    slower, or if there is only one."""
    parts = []
    for word in (FASTER, SLOWER):
        if cells := [cell for cell in curve.cells if cell.change.verdict == word]:
            parts.append(f"{word} at {', '.join(map(_size, cells))}")
    if not parts or len(curve.cells) == 1:
        return ""
    others = dict.fromkeys(
        cell.change.verdict for cell in curve.cells if cell.change.verdict not in (FASTER, SLOWER)
    )
    return ", ".join([*parts, *([f"{' or '.join(others)} elsewhere"] if others else [])])


def _size(cell: CellChange) -> str:
    figures = f"{number(cell.old)} -> {number(cell.new)} {unit(cell.unit)}"
    return f"{extent(cell.case.x, cell.x_unit)} ({figures})"


def reasons(compared: Compared) -> list[str]:
    """The inherited variables that may explain a slowdown, one line for each library."""
    return [
        f"{place.who.label} on {place.place.path}: {reason}"
        for place in compared.places
        if (reason := possible_reason(place, compared))
    ]


def possible_reason(place: PlaceChange, compared: Compared) -> str:
    """`its launches inherited other variables: OMPI_MCA_btl: none -> tcp`; "" if unknown."""
    variables = "; ".join(
        f"{difference.name}: {values(difference)}"
        for difference in compared.differences
        if difference.part == "variable" and difference.name in place.reasons
    )
    return f"its launches inherited other variables: {variables}" if variables else ""


def fractions(compared: Compared) -> list[str]:
    """The places whose fraction has fewer cases than their ratio, so that the two may differ."""
    return [
        f"{place.who.label} on {place.place.path}: fraction of {place.of_ceiling.cases} of"
        f" {count(_cases(place), 'case')}"
        for place in compared.places
        if place.of_ceiling is not None and place.of_ceiling.cases < _cases(place)
    ]


def _cases(place: PlaceChange) -> int:
    return sum(len(curve.cells) for curve in place.curves)


def distances(compared: Compared) -> list[str]:
    """The places where CPUs were at several distances, and how their figures are compared."""
    return [
        f"{place.who.label} on {place.place.path}: {', '.join(map(_distance, place.distances))};"
        f" {_at_distances(place)}"
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
    share = portion(place.levelled, _cases(place), "case")
    return (
        f"compared at {ranges}: in {share} a side has fewer than"
        f" {ALONE} launches there, so the others are converted to it, by what the distance changes"
    )


def _distance(distance: Distance) -> str:
    return f"{_range(distance)} ({distance.old} before, {distance.new} now)"


def _range(distance: Distance) -> str:
    if distance.range_ns is None:
        return "unknown"
    return span(*distance.range_ns, "ns")


def ratio(change: Ratio) -> str:
    """`0.909 [0.88, 0.94]`."""
    return f"{number(change.ratio)} {interval(change.ci95)}".rstrip()


def sentence(change: Change) -> str:
    """The verdict on a change with its figures."""
    lacks = f" ({_LACKS[change.lacks]})" if change.lacks else ""
    p = f"adjusted p {probability(change.p_adjusted)}"
    return f"{change.verdict}{lacks}, new/old {ratio(change)}, {p}"


def failures(failures: Iterable[Failing]) -> list[str]:
    """One sentence for each failure: its frequency, its kinds, and its verdict."""
    return [
        f"{subject(failing)}: {_how_often(failing)}; {_counted(failing)}" for failing in failures
    ]


def subject(failing: Failing) -> str:
    """The library, place and curve of a failure."""
    place = f"{failing.who.label} on {failing.place.path}"
    return place if failing.curve is None else f"{place}, {_all_metrics(failing.curve)}"


def _all_metrics(curve: Curve) -> str:
    """The label of a curve for all its metrics."""
    return label(msgspec.structs.replace(curve, metric=curve.benchmark))


def _how_often(failing: Failing) -> str:
    ends: Counter[str] = Counter()
    for end in failing.new.ended:
        ends[_ended(end, failing.curve)] += end.tries
    kinds = ", ".join(f"{kind} ({count(times, 'time')})" for kind, times in ends.most_common(ENDS))
    rest = f" and {len(ends) - ENDS} more" if len(ends) > ENDS else ""
    return (
        f"failed in {failing.new.failed} of {count(failing.new.tried, 'block')}"
        f" (before: {failing.old.failed} of {failing.old.tried}): {kinds}{rest}"
    )


def _ended(end: End, curve: Curve | None) -> str:
    """`crashed in bw at 4 KiB`."""
    location = ""
    if end.case is not None:
        location = "" if curve else f" in {end.case.benchmark}"
        location += f" at {extent(end.case.x, end.x_unit)}" if end.case.x else ""
    return f"{end.status}{location}"


def _fails_more_often(failing: Failing) -> bool:
    """True if it fails more often than before, significant or not."""
    return failing.new.failed * failing.old.tried > failing.old.failed * failing.new.tried


def _counted(failing: Failing) -> str:
    p = f"adjusted p {probability(failing.p_adjusted)}"
    if failing.wrong_data:
        return "regressed: wrong data now, none before"
    if failing.regressed and failing.p_adjusted > ERROR_RATE:
        return "regressed: in every block now, in none before"
    if failing.regressed:
        return f"regressed, {p}"
    if not failing.old.tried:
        return "not tried before"
    if not _fails_more_often(failing):
        return "no more often than before"
    if failing.needed is None:
        return (
            f"too rare to judge, {p}: more than {MOST_NEEDED} blocks of each side would be needed"
        )
    return f"too few to judge, {p}: about {failing.needed} blocks of each side would be needed"


def unmatched(compared: Compared) -> list[str]:
    """The cases that are not compared, with the reasons."""
    return [
        f"{unmatched.who.label} on {unmatched.place.path}: {count(unmatched.cases, 'case')}: "
        f"{unmatched.why}"
        for unmatched in compared.unmatched
    ]
