# SPDX-License-Identifier: Apache-2.0
"""A history as a document: what is slower, since when, and what changed then."""

import shlex
from collections.abc import Iterator

from nearpeak.compare.present import next_step
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
from nearpeak.history import wording
from nearpeak.history.courses import (
    CaseCourse,
    Course,
    CurveCourse,
    Event,
    Failing,
    History,
    Part,
    PlaceCourse,
    Step,
)
from nearpeak.history.events import shift
from nearpeak.numbers import count, extent, in_short, number, percent, probability
from nearpeak.results.names import case, label

_ROWS, _EVENTS = 6, 3  # in the answer
_TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}
_RATIO = Column("ratio", "New/old")
_SINCE = Column("since", "Since", figure=False)
_SCATTER = Column("session_scatter", "Scatter", "%")
_HISTORY = Column("history", "History", figure=False)
_BRIEF = [_RATIO, _SINCE, _HISTORY]
_COURSES = [_RATIO, _SINCE, _SCATTER, _HISTORY]
_SESSIONS = [
    Column("session", "Session"),
    *(Column(key, key.title(), figure=False) for key in ("started", "host", "study")),
    Column("changed", "What changed before it", figure=False, long=True),
]
_MEANINGS = (
    ("New/old", "the last change: the new level over the one before; above 1 is better"),
    ("Since", "the first session at the new level"),
    ("Scatter", "robust standard deviation of sessions about their levels"),
    ("History", "each session in the order of time: the higher, the better; | is a change"),
    ("p", "of no change, adjusted for all rows and sessions"),
)
_DRAWN = "○ a session, ● one since the last change; the line is the first level, the dashed one the"


def present(history: History) -> Document:
    """The whole history; its answer has what is slower, and what changed then."""
    host = in_short([*dict.fromkeys(session.host for session in history.sessions)])
    return Document(
        title=f"Nearpeak history of {host}",
        heading=f"Since when is {host} slower?",
        byline=[
            f"{count(len(history.sessions), 'session')}, {wording.started(history, 0)} to"
            f" {wording.started(history, -1)}",
            f"tolerance {wording.tolerance(history)}",
            f"Nearpeak {history.nearpeak}",
        ],
        sections=[
            Section("", list(_answer(history)), "found"),
            Section("Changes", list(_lists(history)), medium="details"),
            *_places(history),
            Section(
                "Sessions",
                [Table("", "", "Folder", _SESSIONS, [_sessions(history)])],
                medium="page",
            ),
        ],
        conclusion=wording.last_line(history),
        bad=history.regressed,
        footer="Made by `nearpeak history`; docs/methods/history.md explains each verdict.",
        style=STYLE,
    )


def _answer(history: History) -> Iterator[Block]:
    yield Prose(wording.conclusion(history), "bad" if history.regressed else "", strong=True)
    yield _overview(history)
    failing = [_failing(failure, history) for failure in history.failures if failure.regressed]
    slower = [_finding(event, history) for event in history.events if event.regressed]
    if findings := [*failing, *slower][:_EVENTS]:
        yield Findings(findings)
    for limit in wording.limits(history):
        yield Prose(limit, "muted")


def _overview(history: History) -> Table:
    """The parts that changed, the regressions first; without a change each library and ceiling."""
    parts = [(part, event.session) for event in history.events for part in event.parts]
    rows = [
        Row(wording.subject(part, history), _of_part(part, session, history))
        for part, session in parts[:_ROWS]
    ]
    every = len(parts)
    if not parts:
        rows = [
            Row(_name(place), _judged(place.course, None, history))
            for place in history.places[:_ROWS]
        ]
        every = len(history.places)
    caption = f"The first {_ROWS} of {every}" if every > _ROWS else ""
    head = "What changed" if parts else "Library and path"
    return Table("", caption, head, _BRIEF, [Rows("", rows)], heads=True, compact=True, stacks=True)


def _of_part(part: Part, session: int, history: History) -> dict[str, Value]:
    course = history.course(part)
    return _judged(course, course.step_at(session), history)


def _name(place: PlaceCourse) -> str:
    return f"{place.who.label} on {place.place.path}"


def _judged(course: Course, step: Step | None, history: History) -> dict[str, Value]:
    """A change of a course, its scatter, and all sessions."""
    changes = [step.session for step in course.steps]
    drawn = sparkline(course.values, changes, history.tolerance, "the first level")
    values = {"session_scatter": Value(percent(course.scatter), "text"), "history": drawn}
    if step is None:
        return values
    since = moment(history.sessions[step.session].started).removesuffix(" UTC")
    notes = (f"p {probability(step.p_adjusted)}",)
    tone = _TONES[step.verdict]
    ratio = step.ratio_now if step.regressed else step.ratio
    return {
        "ratio": Value(number(ratio), "text", tone=tone, remark="!" * step.regressed),
        "since": Value(since, "text", hover="; ".join(notes)),
        **values,
    }


def _failing(failing: Failing, history: History) -> Finding:
    command = shlex.join(
        ["nearpeak", "report", history.sessions[failing.session].folder, "--verbose"]
    )
    return Finding(f"Since {wording.failure(failing, history)}", "See how it failed:", command)


def _finding(event: Event, history: History) -> Finding:
    part = event.parts[0]
    before, now = history.course(part).around(event.session)
    worst = _worst(part, before, now, history)
    size = extent(worst.case.x, worst.x_unit)
    facts = [
        f"Since {wording.happened(event, history)}: {part.who.label} on {part.place.path},"
        f" {case(worst.case)} at {size}: {wording.figures(worst, before, now)}",
        wording.ceiling(event, part, history),
        wording.reasons(event.candidates),
    ]
    text = "; ".join(filter(None, facts))
    return next_step(text, part.who, part.place, worst.case)


def _worst(part: Part, before: slice, now: slice, history: History) -> CaseCourse:
    """The case of a part that lost most between two levels of it."""
    place = next(
        owner for owner in history.places if (owner.who, owner.place) == (part.who, part.place)
    )
    cases = [
        cell
        for curve in place.curves
        if part.curve in (None, curve.curve)
        for cell in curve.cases
        if part.case in (None, cell.case)
    ]
    return min(cases, key=lambda cell: shift(cell.course, before, now) or 0.0)


def _lists(history: History) -> Iterator[Block]:
    events = [wording.event(event, history) for event in history.events]
    facts = [wording.dated(fact, history) for fact in history.facts]
    if failures := [wording.failure(failing, history) for failing in history.failures]:
        yield Items(failures, "Failures")
    if events:
        yield Items(events, "Changes of figures")
    if facts:
        yield Items(facts, "Changes of machine, driver, libraries, build and inherited variables")
    else:
        parts = "Machine, driver, libraries, build and inherited variables"
        yield Prose(f"{parts}: no change is recorded.")


def _places(history: History) -> Iterator[Section]:
    """Yields each path with its libraries and its ceiling, then the meanings of the columns."""
    for path, alternatives in grouped(history.places, lambda place: place.place).items():
        rows = [row for place in alternatives for row in _rows(place, history)]
        groups = [
            _by_size(place, curve, history) for place in alternatives for curve in place.curves
        ]
        blocks: list[Block] = [
            Table("", "", "Curve", _COURSES, [Rows("", rows)], stacks=True),
            Table("", "", "Size", _COURSES, groups, folded="By size", stacks=True, medium="page"),
        ]
        yield Section(path.path, blocks, medium="details")
    meanings: list[Block] = [Terms(_MEANINGS, ""), Prose(f"{_DRAWN} tolerance", medium="page")]
    yield Section("What the columns mean", meanings, medium="details")


def _rows(place: PlaceCourse, history: History) -> Iterator[Row]:
    yield Row(place.who.label, _judged(place.course, place.course.decisive, history), strong=True)
    for curve in place.curves:
        yield Row(f"  {label(curve.curve)}", _judged(curve.course, curve.course.decisive, history))


def _by_size(place: PlaceCourse, curve: CurveCourse, history: History) -> Rows:
    rows = [
        Row(extent(cell.case.x, cell.x_unit), _judged(cell.course, cell.course.decisive, history))
        for cell in curve.cases
    ]
    return Rows(f"{place.who.label}, {label(curve.curve)}", rows)


def _sessions(history: History) -> Rows:
    facts = grouped(history.facts, lambda fact: fact.session)
    rows = []
    for index, session in enumerate(history.sessions):
        changed = "; ".join(wording.fact(fact) for fact in facts.get(index, []))
        values = {
            "session": str(index + 1),
            "started": moment(session.started),
            "host": session.host,
            "study": session.study,
            "changed": changed,
        }
        rows.append(Row(session.folder, {key: Value(text, "text") for key, text in values.items()}))
    return Rows("", rows)
