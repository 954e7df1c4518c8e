# SPDX-License-Identifier: Apache-2.0
"""Sentences about a history."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from nearpeak.document.templates import moment
from nearpeak.grouping import grouped, present
from nearpeak.history.courses import CaseCourse, Event, Fact, Failing, History, Part
from nearpeak.history.events import shift
from nearpeak.numbers import count, extent, listed, number, percent, unit
from nearpeak.results.names import case, label
from nearpeak.statistics.change_points import FEWEST, PERSISTS
from nearpeak.terms.fingerprints import shown
from nearpeak.terms.identity import CEILING, Curve

_WITH_IT = 0.5  # of a library's loss: a ceiling that lost more may be its reason
# Correlation of neighbours from which the error rate does not hold; in a short history, chance
# gives more.
_ALIKE = 0.25
_ERRORS_IF_ALIKE = 0.2  # the most in benchmarks/RESULTS.md
_NAMED = 3  # parts, or curves, named in one sentence


def last_line(history: History) -> str:
    """The conclusion, after the exit status of the command if that is not 0."""
    text = conclusion(history)
    if not history.status:
        return text
    return f"Exit status {history.status}: {text[0].lower()}{text[1:]}"


def conclusion(history: History) -> str:
    """The parts that fail or are slower, and since when; else the reason why nothing is said."""
    failing = [failing for failing in history.failures if failing.regressed]
    slower = [event for event in history.events if event.regressed]
    sentences = [f"Failed {'; '.join(_failed(failing, history))}."] if failing else []
    if slower:
        sentences.append(f"Slower: {'; '.join(_slower(event, history) for event in slower)}.")
    if sentences:
        return " ".join(sentences)
    sessions = count(len(history.sessions), "session")
    if not history.judged:
        return (
            f"Nothing can be judged: {sessions}; a history takes {FEWEST} or more. Until then, use"
            " nearpeak compare."
        )
    after = f" since {moment(history.since)}" if history.since else ""
    return (
        f"Nothing became slower by more than {tolerance(history)}{after} and still is:"
        f" {sessions}{_lasting(history)}{_lacking(history)}."
    )


def _lasting(history: History) -> str:
    """`, in which only a loss that lasted 4 can be found`."""
    if not history.seen_after or history.seen_after == PERSISTS:
        return ""
    return f", in which only a loss that lasted {history.seen_after} can be found"


def _lacking(history: History) -> str:
    """`, but the newest one lacks 2 curves`; `, but 2 curves began anew`."""
    lost, anew = len(history.gone), len(history.restarted)
    sizes = " at some sizes" if any(gone.sizes for gone in history.gone) else ""
    reasons_not = [f"the newest one lacks {count(lost, 'curve')}{sizes}"] if lost else []
    reasons_not += [f"{count(anew, 'curve')} began anew"] if anew else []
    return f", but {listed(reasons_not)}" if reasons_not else ""


def _failed(failures: Iterable[Failing], history: History) -> Iterator[str]:
    """Yields `since 2026-11-20: mpich on gpu-gpu nvlink (crashed)` for each session."""
    for session, alike in grouped(failures, lambda failing: failing.session).items():
        named = [
            f"{failing_subject(failing)} ({' or '.join(failing.ended[:_NAMED])})"
            for failing in alike[:_NAMED]
        ]
        rest = [f"{len(alike) - _NAMED} more"] if len(alike) > _NAMED else []
        yield f"since {started(history, session)}: {listed([*named, *rest])}"


def failing_subject(failing: Failing) -> str:
    """`mpich on gpu-gpu nvlink, latency D,D at 64 KiB and 1 MiB`."""
    place = f"{failing.who.label} on {failing.place.path}"
    if failing.curve is None:
        return place
    curve = msgspec.structs.replace(failing.curve, metric=failing.curve.benchmark)
    return f"{place}, {case(curve)}{_at_sizes(failing.sizes, failing.x_unit)}"


def _at_sizes(sizes: Sequence[int], x_unit: str) -> str:
    """` at 64 KiB and 1 MiB`; ` at 5 sizes from 64 KiB to 1 MiB`."""
    named = [extent(size, x_unit) for size in sizes]
    if len(named) > _NAMED:
        return f" at {len(named)} sizes from {named[0]} to {named[-1]}"
    return f" at {listed(named)}" if named else ""


def failure(failing: Failing, history: History) -> str:
    """One failure in a line: since when, how often, and what changed then."""
    counts = (
        f"{' or '.join(failing.ended)} in {failing.failed} of {count(failing.tried, 'block')}"
        f" (before: {failing.failed_before} of {failing.tried_before})"
    )
    texts = [
        f"session {failing.session + 1} of {len(history.sessions)},"
        f" {started(history, failing.session)}: {failing_subject(failing)}: {counts}",
        reasons(failing.candidates),
    ]
    return "; ".join(filter(None, texts))


def _slower(event: Event, history: History) -> str:
    """`mpich on gpu-gpu nvlink, 0.905 times as fast since 2026-11-20 02:00 UTC`."""
    parts = [part for part in event.parts if part.regressed]
    named = [
        f"{subject(part, history)}, {number(part.ratio_now)} times as fast"
        for part in parts[:_NAMED]
    ]
    rest = [f"{len(parts) - _NAMED} more"] if len(parts) > _NAMED else []
    return f"{listed([*named, *rest])} since {started(history, event.session)}"


def subject(part: Part, history: History) -> str:
    """`mpich on gpu-gpu nvlink, latency D,D at 8 B`."""
    place = f"{part.who.label} on {part.place.path}"
    if part.curve is None:
        return place
    size = f" at {extent(part.case.x, 'B')}" if part.case else ""
    return f"{place}, {_curve(part, part.curve, history)}{size}"


def _curve(part: Part, curve: Curve, history: History) -> str:
    """The short name of a curve; the full one where the short one would be ambiguous."""
    curves = next(
        place.curves
        for place in history.places
        if (place.who, place.place) == (part.who, part.place)
    )
    alike = [other for other in curves if case(other.curve) == case(curve)]
    return case(curve) if len(alike) < 2 else label(curve)


def started(history: History, session: int) -> str:
    """The instant at which a session started."""
    return moment(history.sessions[session].started)


def happened(event: Event, history: History) -> str:
    """`session 41 of 60, 2026-11-20 02:00 UTC (or 40 to 42)`, counted from 1."""
    first, last = event.first + 1, event.last + 1
    also = f" (or any of {first} to {last})" if first < last else ""
    place = f"session {event.session + 1} of {len(history.sessions)}"
    return f"{place}, {started(history, event.session)}{also}"


def reasons(candidates: Sequence[Fact]) -> str:
    """`changed then: driver nvidia: 580 -> 590`; "" if nothing is known."""
    named = [fact(candidate) for candidate in candidates[:_NAMED]]
    others = len(candidates) - len(named)
    rest = [f"{others} more (--verbose)"] if others else []
    return f"changed then: {'; '.join([*named, *rest])}" if named else ""


def ceiling(event: Event, part: Part, history: History) -> str:
    """Tells a slower library from a slower path; "" for a ceiling, or where it is not judged."""
    judged = [
        place.course
        for place in history.ceilings
        if place.place == part.place and place.course.scatter is not None
    ]
    if part.who == CEILING or not judged:
        return ""
    if any(other.who == CEILING and other.place == part.place for other in event.parts):
        return "the path changed with it"
    with_it = shift(judged[0], *history.course(part).around(event.session))
    if with_it is None or with_it / math.log(part.ratio_now) > _WITH_IT:
        return "the path may have changed with it"
    return "the path did not change"


def fact(change: Fact) -> str:
    """`driver nvidia: 580.159 -> 590.1`, shortened."""
    return f"{change.part} {change.name}: {' -> '.join(shown(change.before, change.now))}"


def dated(change: Fact, history: History) -> str:
    """The same after its session."""
    return f"session {change.session + 1}, {started(history, change.session)}: {fact(change)}"


def event(changed: Event, history: History) -> str:
    """One event in a line: when, what, and what changed then."""
    parts = [
        f"{subject(part, history)}: {number(part.ratio)} times as fast"
        for part in changed.parts[:_NAMED]
    ]
    rest = [f"{len(changed.parts) - _NAMED} more"] if len(changed.parts) > _NAMED else []
    texts = "; ".join(filter(None, [*parts, *rest, reasons(changed.candidates)]))
    return f"{happened(changed, history)}: {texts}"


def figures(cell: CaseCourse, before: slice, now: slice) -> str:
    """`2.12 -> 2.35 µs`: the medians of the sessions before a change, and of the newest level."""
    old, new = (
        number(median(measured)) if (measured := present(cell.figures[level])) else "none"
        for level in (before, now)
    )
    return f"{old} -> {new} {unit(cell.unit)}"


def tolerance(history: History) -> str:
    """`5 %`."""
    return f"{100 * history.tolerance:.6g} %"


def limits(history: History) -> Iterator[str]:
    """Yields what limits the judgement."""
    scatters = present([place.course.scatter for place in history.places])
    if scatters:
        yield (
            f"{count(len(history.sessions), 'session')}, which scatter by"
            f" {percent(median(scatters))} % in a typical row. {_errors(history)}"
        )
    if history.gone:
        yield f"Not measured in the newest session: {_gone(history)}."
    if history.restarted:
        yield f"Measured in another way than before: {_restarted(history)}."
    if history.left_out:
        named = [f"{left.folder} ({left.why})" for left in history.left_out[:_NAMED]]
        yield f"Left out: {_first(named, len(history.left_out))}."
    hosts = [session.host for session in history.sessions]
    if sum(host != following for host, following in pairwise(hosts)) >= len(set(hosts)) > 1:
        yield (
            f"Sessions of {count(len(set(hosts)), 'host')} alternate, which hides changes: give"
            " the folders of one host."
        )
    if loaded := [session for session in history.sessions if session.loaded]:
        yield (
            f"Other work took the ranks' time in {count(len(loaded), 'session')}: measure on an"
            " idle machine."
        )


def _errors(history: History) -> str:
    """The error rate of one look."""
    if history.correlation >= max(_ALIKE, 2 / math.sqrt(len(history.sessions))):
        return (
            f"Neighbouring sessions are alike (correlation {number(history.correlation)}): in"
            f" simulations up to {100 * _ERRORS_IF_ALIKE:.0f} % of looks at an unchanged history"
            " show a change."
        )
    rate = f"{100 * history.error_rate:.6g} %"
    return (
        f"If sessions are independent, at most {rate} of looks at an unchanged history show a"
        " change."
    )


def _restarted(history: History) -> str:
    """`mpich on gpu-gpu nvlink, bw since session 40 (GB/s, window 64 -> GB/s, window 32)`."""
    named = [
        f"{anew.who.label} on {anew.place.path}, {case(anew.curve)} since session"
        f" {anew.session + 1} ({anew.before} -> {anew.now})"
        for anew in history.restarted
    ]
    return f"{_first(named, len(named))}; earlier sessions do not count"


def _first(named: Sequence[str], every: int) -> str:
    rest = [f"{every - _NAMED} more"] if every > _NAMED else []
    return listed([*named[:_NAMED], *rest])


def _gone(history: History) -> str:
    """`mpich on gpu-gpu nvlink (4 curves, since session 42)`."""
    named = []
    for (who, place), curves in grouped(history.gone, lambda gone: (gone.who, gone.place)).items():
        subject = f"{who.label} on {place.path}"
        lost = count(len(curves), "curve")
        if len(curves) == 1 and curves[0].sizes:
            lost = f"{case(curves[0].curve)}{_at_sizes(curves[0].sizes, curves[0].x_unit)}"
        elif any(curve.sizes for curve in curves):
            lost += " at some sizes"
        named.append(f"{subject} ({lost}, since session {max(c.session for c in curves) + 2})")
    return _first(named, len(named))
