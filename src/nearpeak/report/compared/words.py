# SPDX-License-Identifier: Apache-2.0
"""What the terminal, the page and JUnit all say of a comparison."""

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
ENDS = 3  # ways of failing that are told in one sentence
NAMED = 6  # of what is not measured any more, in one sentence
_LACKS = {"control": "no control", "session": "one session"}
ENOUGH = 3  # sessions of a side: from then on those measured say more than what is assumed of them


def by_place(compared: Compared) -> list[tuple[Place, list[PlaceChange]]]:
    """The libraries of each place, then its ceiling, in the order of the studies."""
    places = dict.fromkeys(place.place for place in compared.places)
    return [
        (place, [change for change in compared.places if change.place == place]) for place in places
    ]


def conclusion(compared: Compared) -> str:
    """Whether anything regressed, and what is not measured any more."""
    allowed = tolerance(compared)
    gone = _in_short(_names(missing for missing in compared.missing if not missing.failed))
    places = [
        place for place in compared.places if any(change.regressed for change in place.changes)
    ]
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
    open_ones = [
        failure for failure in compared.failures if not failure.regressed and _more(failure)
    ]
    failed = (
        f" Failed more often, but not proven to have regressed: {_owners(open_ones)}."
        if open_ones
        else ""
    )
    if parts:
        more = f" Not measured now: {gone}." if gone else ""
        return f"Regressed: {'; '.join(parts)}.{more}{failed}"
    if gone and not compared.allow_missing:
        accept = "Measure it, or accept it with --allow-missing."
        return f"Not measured now: {gone}. {accept} {_proven(compared)}{failed}"
    nothing = "Nothing regressed. " if compared.judged else ""
    more = f" Not measured now, which is allowed: {gone}." if gone else ""
    return f"{nothing}{_proven(compared)}{more}{failed}"


def last_line(compared: Compared, status: int) -> str:
    """The conclusion, behind the status that the command ends with."""
    said = conclusion(compared)
    return f"Exit status {status}: {said[0].lower()}{said[1:]}" if status else said


def _owners(found: Iterable[Failing]) -> str:
    return ", ".join(
        dict.fromkeys(f"{failing.who.label} on {failing.place.path}" for failing in found)
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
    """Whether each side has but one session, whose scatter is then not measured but assumed."""
    return compared.count("old") == compared.count("new") == 1


def verdict(change: Change) -> str:
    """In a line of a table; what a verdict lacks, where it is known."""
    return _LACKS[change.lacks] if change.lacks else change.verdict


def missing(compared: Compared) -> list[str]:
    """What the new side lacks, each in the widest sense: `path gpu-gpu nvlink`, `library mpich`."""
    failed = _names(missing for missing in compared.missing if missing.failed)
    return [
        *_names(missing for missing in compared.missing if not missing.failed),
        *(f"{name}: its launches failed" for name in failed),
    ]


def _names(found: Iterable[Missing]) -> list[str]:
    """Each once, and where a budget left all of it out, with which one it would be measured."""
    budgets: dict[str, list[float | None]] = defaultdict(list)
    for missing in found:
        budgets[_lacking(missing)].append(missing.budget_seconds)
    names = []
    for name, needed in budgets.items():
        known = [each for each in needed if each is not None]
        budget = f"--budget {format_seconds(max(known))}" if len(known) == len(needed) else ""
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
    more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more


def judged(compared: Compared) -> str:
    """How many curves have a verdict, and what is not compared at all."""
    curves = [curve.change for place in compared.places for curve in place.curves]
    sure = sum(change.verdict != UNDECIDED for change in curves)
    told = portion(sure, len(curves), "curve")
    words = f"{told[0].upper()}{told[1:]} could be judged."
    if missing := sum(unmatched.cases for unmatched in compared.unmatched):
        words += (
            f" Not compared: {count(missing, 'case')} that only one side has, or that both measured"
            " differently."
        )
    return words


def portion(part: int, whole: int, thing: str) -> str:
    """`none of 3 curves`, `2 of 3 curves`, `all 3 curves`, `both curves`, `the only curve`."""
    if part == whole and part:
        every = {1: "the only", 2: "both"}.get(part, f"all {part}")
        return f"{every} {count(part, thing).partition(' ')[2]}"
    return f"{part or 'none'} of {count(whole, thing)}" if whole > 1 else f"no {thing}"


def tolerance(compared: Compared) -> str:
    """`5 %`."""
    return f"{100 * compared.tolerance:.6g} %"


def host(compared: Compared) -> str:
    """That of all sessions, or those that they were on."""
    hosts = dict.fromkeys(session.host for session in compared.sessions)
    return in_short([*hosts]) or "no session with a figure"


def side(compared: Compared, which: Side) -> str:
    """`3 sessions in study-1 and 2 other folders`."""
    own = [session for session in compared.sessions if session.side == which]
    if not own:
        return "no session with a figure"
    folders = list(dict.fromkeys(session.folder for session in own))
    others = f" and {count(len(folders) - 1, 'other folder')}" if len(folders) > 1 else ""
    return f"{count(len(own), 'session')} in {folders[0]}{others}"


def sessions(compared: Compared) -> str:
    """What so many sessions can tell, and what they cannot."""
    old, new = compared.count("old"), compared.count("new")
    told = compared.tells_from
    if not compared.places:
        return f"Nothing is judged: {_NONE_IN_COMMON}."
    if told is None and _apart_everywhere(compared):
        return f"Nothing is judged: {_NO_DISTANCE}."
    if told is None:
        return (
            "Nothing is judged: one launch of each does not show how launches and sessions scatter."
            f" Measure {ENOUGH} sessions of each side."
        )
    words = (
        f"{count(old, 'session')} before, {new} now: a change below about {percent(told)} %"
        " cannot be told from the scatter of launches and sessions."
    )
    if single(compared):
        words += (
            " One session does not show how far sessions scatter, so an assumed scatter is used:"
            " only a much larger change gets a verdict. A change of a library gets no verdict where"
            " its ceiling changed in the same way."
        )
    words += _unfounded(compared)
    if min(old, new) < ENOUGH:
        words += f" Measure {ENOUGH} sessions of each side to tell more."
    return " ".join(
        filter(None, [words, _loaded(compared), _unexplained(compared), _moved(compared)])
    )


def _loaded(compared: Compared) -> str:
    """Sessions in which other work took the ranks' time, as their studies say."""
    loaded = [session for session in compared.sessions if session.loaded]
    if not loaded:
        return ""
    folders = ", ".join(dict.fromkeys(session.folder for session in loaded))
    return (
        f"Other work took the ranks' time in {count(len(loaded), 'session')} ({folders}): measure"
        " again when the machine is idle."
    )


def _unfounded(compared: Compared) -> str:
    """What has no verdict whatever it did, and what would help."""
    lacking = {change.lacks for place in compared.places for change in place.changes}
    words = ""
    if "control" in lacking:
        words += (
            " 'no control': with a single session on a side, a library gets a verdict only if its"
            " ceiling was measured beside it. Measure ceilings too, or more sessions."
        )
    if "session" in lacking:
        words += " 'one session': with a single session on a side, a ceiling gets no verdict."
    return words


def _moved(compared: Compared) -> str:
    """Where the CPUs have mostly other distances now."""
    places = [place.place.path for place in compared.places if place.moved]
    if not places:
        return ""
    return (
        "The CPUs of the ranks are now mostly at another distance on"
        f" {', '.join(dict.fromkeys(places))} (see below)."
    )


def _unexplained(compared: Compared) -> str:
    """What launches do not explain, and sessions may."""
    curves = [curve.change for place in compared.places for curve in place.curves]
    open_ones = [
        change
        for change in curves
        if change.verdict == UNDECIDED
        and change.alone is not None
        and not change.alone[0] <= 1 <= change.alone[1]
    ]
    if not open_ones:
        return ""
    told = portion(len(open_ones), len(curves), "curve")
    differ, are = ("differs", "is") if len(open_ones) == 1 else ("differ", "are")
    return (
        f"{told[0].upper()}{told[1:]} {differ} by more than launches scatter, but {are} undecided:"
        " the scatter of sessions may explain the difference."
    )


def differences(compared: Compared) -> list[str]:
    """`driver nvidia: 580.159 -> 590.1`, in short, of everything that is not the same."""
    return [
        f"{difference.part} {difference.name}: {values(difference)}"
        for difference in compared.differences
    ]


def values(difference: Difference) -> str:
    """`580.159 -> 590.1`, in short."""
    return " -> ".join(shown(difference.old, difference.new))


def sizes(curve: CurveChange) -> str:
    """`faster at 4 KiB (2.12 -> 0.573 µs), undecided elsewhere`; "" where no size is faster or
    slower, or there is but one."""
    told = [
        f"{word} at {', '.join(map(_size, cells))}"
        for word in (FASTER, SLOWER)
        if (cells := [cell for cell in curve.cells if cell.change.verdict == word])
    ]
    if not told or len(curve.cells) == 1:
        return ""
    others = dict.fromkeys(
        cell.change.verdict for cell in curve.cells if cell.change.verdict not in (FASTER, SLOWER)
    )
    return ", ".join([*told, *([f"{' or '.join(others)} elsewhere"] if others else [])])


def _size(cell: CellChange) -> str:
    figures = f"{number(cell.old)} -> {number(cell.new)} {unit(cell.unit)}"
    return f"{extent(cell.case.x, cell.x_unit)} ({figures})"


def reasons(compared: Compared) -> list[str]:
    """Of what is slower: the inherited variables that may be why, one line for each library."""
    return [
        f"{place.who.label} on {place.place.path}: {reason}"
        for place in compared.places
        for reason in [may_be_why(place, compared)]
        if reason
    ]


def may_be_why(place: PlaceChange, compared: Compared) -> str:
    """`its launches inherited other variables: OMPI_MCA_btl: none -> tcp`; "": nothing is known."""
    told = "; ".join(
        f"{each.name}: {values(each)}"
        for each in compared.differences
        if each.part == "variable" and each.name in place.reasons
    )
    return f"its launches inherited other variables: {told}" if told else ""


def fractions(compared: Compared) -> list[str]:
    """Where the fraction is of fewer cases than the ratio beside it, so that they may differ."""
    return [
        f"{place.who.label} on {place.place.path}: fraction of {place.of_ceiling.cases} of"
        f" {count(cases, 'case')}"
        for place in compared.places
        if place.of_ceiling is not None
        for cases in [sum(len(curve.cells) for curve in place.curves)]
        if place.of_ceiling.cases < cases
    ]


def distances(compared: Compared) -> list[str]:
    """Where launches had CPUs near to each other and far away, and what was done about it."""
    return [
        f"{place.who.label} on {place.place.path}: {', '.join(map(_apart, place.distances))};"
        f" {_at_distances(place)}"
        for place in compared.places
        if place.distances
    ]


def _at_distances(place: PlaceChange) -> str:
    if any(distance.range_ns is None for distance in place.distances):
        return "compared as measured"
    if place.inseparable:
        return f"not judged, as {_NO_DISTANCE}"
    at = " and ".join(_range(distance) for distance in place.distances if distance.compared)
    if not place.levelled:
        return f"compared at {at} alone"
    cases = sum(len(curve.cells) for curve in place.curves)
    return (
        f"compared at {at}: in {portion(place.levelled, cases, 'case')} a side has fewer than"
        f" {ALONE} launches there, so the others are converted to it, by what the distance changes"
    )


def _apart(distance: Distance) -> str:
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


def failures(found: Iterable[Failing]) -> list[str]:
    """One sentence for each: how often, how, and what the counts say."""
    return [f"{subject(failing)}: {_how_often(failing)}; {_counted(failing)}" for failing in found]


def subject(failing: Failing) -> str:
    """Whose launches failed, where, and in what."""
    where = f"{failing.who.label} on {failing.place.path}"
    return where if failing.curve is None else f"{where}, {_of_curve(failing.curve)}"


def _of_curve(curve: Curve) -> str:
    """Of all its metrics."""
    return label(msgspec.structs.replace(curve, metric=curve.benchmark))


def _how_often(failing: Failing) -> str:
    ends: Counter[str] = Counter()
    for end in failing.new.ended:
        ends[_ended(end, failing.curve)] += end.tries
    told = ", ".join(f"{how} ({count(times, 'time')})" for how, times in ends.most_common(ENDS))
    more = f" and {len(ends) - ENDS} more" if len(ends) > ENDS else ""
    return (
        f"failed in {failing.new.failed} of {count(failing.new.tried, 'block')}"
        f" (before: {failing.old.failed} of {failing.old.tried}): {told}{more}"
    )


def _ended(end: End, known: Curve | None) -> str:
    """`crashed in bw at 4 KiB`."""
    where = ""
    if end.case is not None:
        where = "" if known else f" in {end.case.benchmark}"
        where += f" at {extent(end.case.x, end.x_unit)}" if end.case.x else ""
    return f"{end.status}{where}"


def _more(failing: Failing) -> bool:
    """Whether it fails more often than before, be it by chance."""
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
    if not _more(failing):
        return "no more often than before"
    if failing.needed is None:
        return (
            f"too rare to judge, {p}: more than {MOST_NEEDED} blocks of each side would be needed"
        )
    return f"too few to judge, {p}: about {failing.needed} blocks of each side would be needed"


def unmatched(compared: Compared) -> list[str]:
    """What is not compared, and why."""
    return [
        f"{unmatched.who.label} on {unmatched.place.path}: {count(unmatched.cases, 'case')}: "
        f"{unmatched.why}"
        for unmatched in compared.unmatched
    ]
