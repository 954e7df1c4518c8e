# SPDX-License-Identifier: Apache-2.0
"""A comparison as a document: what became slower, on which path, and by how much."""

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from nearpeak.compare import wording
from nearpeak.compare.compared import (
    CellChange,
    Change,
    Compared,
    CurveChange,
    PlaceChange,
    Ratio,
    Session,
    Side,
)
from nearpeak.document.model import (
    Block,
    Column,
    Document,
    Finding,
    Findings,
    Items,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    Terms,
    Tone,
    Value,
)
from nearpeak.document.sparkline import STYLE, sparkline
from nearpeak.document.templates import moment
from nearpeak.grouping import grouped
from nearpeak.numbers import count, extent, in_short, interval, number, probability, unit
from nearpeak.results.names import case, label
from nearpeak.statistics.verdicts import FASTER, SLOWER
from nearpeak.terms.commands import explaining
from nearpeak.terms.identity import CEILING, Case, Curve, Place, Who

_ROWS, _REGRESSIONS, _DIFFERENCES = 6, 3, 3  # in the answer
_PAIR = 2  # ranks that `nearpeak explain` follows
_TONES: dict[str, Tone] = {FASTER: "good", SLOWER: "bad"}
_RATIO = Column("ratio", "New/old")
_VERDICT = Column("verdict", "Verdict", figure=False)
_HISTORY = Column("history", "History", figure=False)
_CHANGES = [_RATIO, Column("fraction", "Fraction"), _VERDICT, _HISTORY]
_BRIEF = [_RATIO, Column("ci95", "95 % interval"), _VERDICT, _HISTORY]
_SIZES = [Column("old", "Old"), Column("new", "New"), _RATIO, _VERDICT, _HISTORY]
_SESSIONS = [
    Column("session", "Session"),
    *(Column(key, key.title(), figure=False) for key in ("started", "host", "study")),
]
_MEANINGS = (
    ("New/old", "above 1, the new side is better, in latency too; [a, b] is a 95 % interval"),
    (
        "Fraction",
        "the same ratio for the fraction of the ceiling, where blocks measured both: it"
        " distinguishes a slower library from a slower path",
    ),
    ("Regressed (!)", "surely slower, by more than the tolerance"),
    ("p", "adjusted for everything that is compared"),
    ("History", "each session, before and now: the higher, the better"),
)
_STYLE = """
tr.whole > th[scope="row"] { font-weight: 600; }
tr:not(.whole) > th.name[scope="row"] { padding-left: 1.6rem; }
td:not(.n):has(> small.wrap) { min-width: 6rem; }
"""
_DRAWN = "○ a session before, ● one now; the line is the mean before, the dashed one the tolerance"


def present(compared: Compared) -> Document:
    """The whole comparison; its answer has the paths, and what regressed most."""
    hosts = dict.fromkeys(session.host for session in compared.sessions)
    host = in_short([*hosts]) or wording.NO_SESSION
    groups = [_sessions(compared, "old", "Before"), _sessions(compared, "new", "Now")]
    return Document(
        title=f"Nearpeak comparison on {host}",
        heading=f"What changed on {host}?",
        byline=[
            f"before: {wording.side(compared, 'old')}",
            f"now: {wording.side(compared, 'new')}",
            f"tolerance {wording.tolerance(compared)}",
            f"Nearpeak {compared.nearpeak}",
        ],
        sections=[
            Section("", list(_answer(compared)), "found"),
            Section("Failures and limits", list(_lists(compared)), medium="details"),
            *_places(compared),
            *_rest(compared),
            Section("Sessions", [Table("", "", "Folder", _SESSIONS, groups)], medium="page"),
        ],
        conclusion=wording.last_line(compared),
        bad=compared.regressed,
        footer="Made by `nearpeak compare`; docs/methods/compare.md explains each verdict.",
        style=STYLE + _STYLE,
    )


def _answer(compared: Compared) -> Iterator[Block]:
    tone: Tone = "bad" if compared.regressed else ""
    yield Prose(wording.conclusion(compared), tone, strong=True)
    if compared.places:
        yield _overview(compared)
    if shown := list(_findings(compared)):
        yield Findings(shown[:_REGRESSIONS])
    if lines := list(map(wording.difference, compared.differences)):
        yield Items(lines, "What differs between both sides", _DIFFERENCES, "see --verbose")
    yield from (Prose(limit, "muted") for limit in [*wording.limits(compared)][:1])


def _overview(compared: Compared) -> Table:
    """A row for each library on each path, and for each ceiling; of many, those that
    became slowest."""
    places = compared.places
    if len(places) > _ROWS:
        places = sorted(places, key=lambda place: place.change.ratio)[:_ROWS]
    every = len(compared.places)
    caption = f"The slowest {_ROWS} of {every}" if every > _ROWS else ""
    rows = [Row(wording.subject(place), _brief(place.change, compared)) for place in places]
    return Table(
        "",
        caption,
        "Library and path",
        _BRIEF,
        [Rows("", rows)],
        heads=True,
        compact=True,
        stacks=True,
    )


def _brief(change: Change, compared: Compared) -> dict[str, Value]:
    judged = _judged(change, compared)
    return {
        "ratio": Value(change.ratio),
        "ci95": Value(interval(change.ci95), "text"),
        "verdict": replace(judged["verdict"], notes=()),
        "history": judged["history"],
    }


def _findings(compared: Compared) -> Iterator[Finding]:
    """Yields what regressed, the slowest first, with its likely reason."""
    slower = [place for place in compared.places if any(one.regressed for one in place.changes)]
    for place in sorted(slower, key=lambda place: wording.worst(place).change.ratio):
        yield _slower(place, compared)
    new = next((session.folder for session in compared.sessions if session.side == "new"), "")
    for failing in compared.failures:
        if failing.regressed:
            command = shlex.join(["nearpeak", "report", new, "--verbose"])
            yield Finding(wording.failure(failing), "See how it failed:", command)


def _slower(place: PlaceChange, compared: Compared) -> Finding:
    cell = wording.worst(place)
    text = (
        f"{wording.subject(place)}: {case(cell.case)} at {extent(cell.case.x, cell.x_unit)} is"
        f" {number(cell.change.ratio)} times as fast ({wording.figures(cell)})"
    )
    text = "; ".join(filter(None, [text, wording.likely_reason(place, compared)]))
    return next_step(text, place.who, place.place, cell.case)


def next_step(text: str, who: Who, place: Place, slow: Case) -> Finding:
    """A finding about a library, or a ceiling, that became slower in a case."""
    if who == CEILING:
        return Finding(text, "Check the hardware:", "nearpeak machine --check")
    if len(place.ends) != _PAIR or place.hosts > 1:
        return Finding(text, "See its sizes with --verbose.")
    return Finding(text, "See why:", explaining(who.label, place, slow))


def _list(title: str, lines: list[str]) -> Iterator[Items]:
    if lines:
        yield Items(lines, title)


def _lists(compared: Compared) -> Iterator[Block]:
    yield from _list("Failed now", list(map(wording.failure, compared.failures)))
    allowed = ", which is allowed" if compared.allow_missing else ""
    failed = [f"{name}: its launches failed" for name in wording.missing(compared, failed=True)]
    yield from _list(f"Not measured now{allowed}", wording.missing(compared) + failed)
    yield from _list("Limits of this comparison", list(wording.limits(compared)))
    if not compared.differences:
        parts = "Machine, driver, libraries, build and inherited variables"
        yield Prose(f"{parts}: no difference is recorded.")


def _places(compared: Compared) -> Iterator[Section]:
    """Yields each place in the order of the studies, with its libraries, then its ceiling; and the
    meanings of the columns."""
    changes = grouped(compared.places, lambda change: change.place)
    for place, alternatives in changes.items():
        rows = [row for one in alternatives for row in _rows(one, compared)]
        blocks: list[Block] = [
            Table("", "", "Curve", _CHANGES, [Rows("", rows)], stacks=True),
            *_list("Sizes that changed", [line for one in alternatives for line in _sizes(one)]),
            _by_size(alternatives, compared),
        ]
        yield Section(place.path, blocks, medium="details")
    if changes:
        meanings: list[Block] = [Terms(_MEANINGS, ""), Prose(_DRAWN, medium="page")]
        yield Section("What the columns mean", meanings, medium="details")


def _rows(place: PlaceChange, compared: Compared) -> Iterator[Row]:
    """Yields all curves as one, then each."""
    names = _curve_names(place)
    yield Row(place.who.label, _changes(place, compared), strong=True)
    for curve in place.curves:
        name = f"  {names[curve.curve]}"
        yield Row(name, _changes(curve, compared), hover=label(curve.curve))


def _curve_names(place: PlaceChange) -> dict[Curve, str]:
    """The short names of curves, and full ones where short ones would be ambiguous."""
    short = Counter(case(curve.curve) for curve in place.curves)
    return {
        curve.curve: case(curve.curve) if short[case(curve.curve)] == 1 else label(curve.curve)
        for curve in place.curves
    }


def _changes(part: PlaceChange | CurveChange, compared: Compared) -> dict[str, Value]:
    values = _judged(part.change, compared)
    if part.of_ceiling is not None:
        cases, every = part.of_ceiling.cases, wording.cases(part)
        notes = (f"{cases} of {count(every, 'case')}",) if cases < every else ()
        values["fraction"] = replace(_ratio(part.of_ceiling), notes=notes)
    return values


def _ratio(ratio: Ratio) -> Value:
    return Value(ratio.ratio, ci95=ratio.ci95)


def _judged(change: Change, compared: Compared) -> dict[str, Value]:
    """The ratio of a change, the verdict on it, and its history."""
    verdict = Value(
        wording.verdict(change),
        "text",
        tone=_TONES.get(change.verdict, "muted"),
        notes=(f"p {probability(change.p_adjusted)}",),
        remark=wording.REGRESSED if change.regressed else "",
    )
    return {"ratio": _ratio(change), "verdict": verdict, "history": _history(change, compared)}


def _history(change: Change, compared: Compared) -> Value:
    now = compared.count("old")
    return sparkline(change.history, [now], compared.tolerance, "the mean of the old side")


def _sizes(place: PlaceChange) -> Iterator[str]:
    """Yields a line for each curve of which a size is faster or slower."""
    names = _curve_names(place)
    for curve in place.curves:
        if text := wording.sizes(curve):
            yield f"{place.who.label}, {names[curve.curve]}: {text}"


def _by_size(places: list[PlaceChange], compared: Compared) -> Table:
    groups = [_of_curve(place, curve, compared) for place in places for curve in place.curves]
    return Table("", "", "Size", _SIZES, groups, folded="By size", stacks=True, medium="page")


def _of_curve(place: PlaceChange, curve: CurveChange, compared: Compared) -> Rows:
    rows = [_size(cell, compared) for cell in curve.cells]
    return Rows(f"{place.who.label}, {label(curve.curve)}", rows)


def _size(cell: CellChange, compared: Compared) -> Row:
    old, new = (Value(value, detail=unit(cell.unit)) for value in (cell.old, cell.new))
    values = _judged(cell.change, compared)
    return Row(extent(cell.case.x, cell.x_unit), {"old": old, "new": new, **values})


def _rest(compared: Compared) -> Iterator[Section]:
    unmatched = [
        f"{wording.subject(one)}: {count(one.cases, 'case')}: {one.why}"
        for one in compared.unmatched
    ]
    if unmatched:
        yield Section("Not compared", list(_list("", unmatched)), medium="details")
    if distances := wording.distances(compared):
        about = Prose(
            "The core-to-core latencies of neighbouring ranks, how many measurements had each, and"
            " how figures are compared for them."
        )
        yield Section("Core-to-core latency", [about, *_list("", distances)], medium="details")


def _sessions(compared: Compared, side: Side, title: str) -> Rows:
    return Rows(title, [_session(one) for one in compared.sessions if one.side == side])


def _session(session: Session) -> Row:
    texts = {"started": moment(session.started), "host": session.host, "study": session.study}
    values = {key: Value(text, "text") for key, text in texts.items()}
    return Row(session.folder, {"session": Value(session.session + 1, "count"), **values})
