# SPDX-License-Identifier: Apache-2.0
"""history.json (docs/how-to/history.md): figures of studies over time, and their changes."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from nearpeak.compare.compared import Measured
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.outcomes import Lost

SCHEMA = 2


class Fact(msgspec.Struct, kw_only=True):
    """A fact of the machine or the software that is another one than in the session before."""

    session: int  # the first session with the new value
    part: str  # `variable` (inherited by launches), `machine`, `driver`, `library` or `build`
    name: str  # of the fact
    before: str  # its value in the session before; `none`
    now: str  # its new value


class Step(msgspec.Struct, kw_only=True):
    """A significant change of a course by more than the tolerance."""

    session: int  # the first session at the new level
    first: int  # the earliest session that may be the first at the new level
    last: int  # the latest such session
    ratio: float  # of the medians of the new level and the one before; above 1: better
    ratio_now: float  # the same of the newest level and the one before
    p_adjusted: float  # of no change, for all courses and sessions
    verdict: Literal["faster", "slower"]  # on the new level
    # slower, no earlier than `since`, and the newest level is still below the one before
    regressed: bool


class Course(msgspec.Struct, kw_only=True):
    """A figure over all sessions."""

    # of each session, relative to the median of the first level, above 1: better; null: not
    # measured
    values: list[float | None]
    steps: list[Step]  # its changes, in the order of time
    # robust standard deviation of sessions about their levels, relative; null: too few sessions
    scatter: float | None

    @property
    def regressed(self) -> bool:
        """True if a loss is not made up for in the newest sessions."""
        return any(step.regressed for step in self.steps)

    @property
    def decisive(self) -> Step | None:
        """The first loss that is not made up for; else the last change."""
        return next(
            (step for step in self.steps if step.regressed), next(reversed(self.steps), None)
        )

    def step_at(self, session: int) -> Step | None:
        """Its change in an event."""
        return next((step for step in self.steps if step.session == session), None)

    def around(self, session: int) -> tuple[slice, slice]:
        """The sessions of the level before a change of it, and those of the newest level."""
        changes = [step.session for step in self.steps]
        before = max((change for change in changes if change < session), default=0)
        return slice(before, session), slice(max([*changes, session]), None)


class CaseCourse(msgspec.Struct, kw_only=True):
    """One case."""

    case: Case  # the case
    x_unit: str  # unit of its `x`: `B`, or of an application for instance `cells`
    unit: str  # of `figures`
    course: Course  # its course
    figures: list[float | None]  # of each session, the middle of its launches; null: not measured


class CurveCourse(msgspec.Struct, kw_only=True):
    """One curve: the mean over its cases."""

    curve: Curve  # the curve
    course: Course  # of the mean over its cases
    cases: list[CaseCourse]  # in the order of the size

    @property
    def courses(self) -> list[Course]:
        """The course of the curve, and those of its cases."""
        return [self.course, *(case.course for case in self.cases)]


class PlaceCourse(msgspec.Struct, kw_only=True):
    """A library, or a ceiling, on one path: the mean over its curves."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    course: Course  # of the mean over its curves
    curves: list[CurveCourse]  # each curve

    @property
    def courses(self) -> list[Course]:
        """The course of the place, those of its curves and those of their cases."""
        return [self.course, *(course for curve in self.curves for course in curve.courses)]


class Part(msgspec.Struct, kw_only=True):
    """The most that changed of a library or a ceiling on a path in one event."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    curve: Curve | None  # null: the mean over all curves changed
    case: Case | None  # null: the mean over the curve changed
    ratio: float  # of the new level and the one before; above 1: better
    ratio_now: float  # of the newest level and the one before
    regressed: bool  # slower, and the newest level is still below the one before


class Event(msgspec.Struct, kw_only=True):
    """Changes that may have happened at once, with what else changed then."""

    session: int  # the first session after it
    first: int  # the earliest session that may be the first after it
    last: int  # the latest such session
    slower: int  # cases that became slower
    faster: int  # cases that became faster
    parts: list[Part]  # what changed, the slowest first
    # facts that changed then, which may be the reason: the rarest changes first
    candidates: list[Fact]

    @property
    def regressed(self) -> bool:
        """True if a part of it holds in the newest sessions, for the worse."""
        return any(part.regressed for part in self.parts)


class Failing(msgspec.Struct, kw_only=True):
    """A library or a ceiling on a path, or cases of it, that fails since a session."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    curve: Curve | None  # with an empty metric; null: anything on the path
    sizes: list[int]  # the x of the cases of the curve that fail; empty: no curve
    x_unit: str  # unit of `sizes`
    session: int  # the first session that fails
    ended: list[Lost]  # how tries failed since then, the most frequent first
    tried: int  # blocks that came to it since then
    failed: int  # blocks since then in which it failed
    tried_before: int  # blocks before
    failed_before: int  # blocks before in which it failed
    # facts that changed between the last session that came to it before, and `session`
    candidates: list[Fact]
    regressed: bool  # no earlier than `since`


class Gone(msgspec.Struct, kw_only=True):
    """Cases of a curve that the newest session lacks, though an earlier one measured them."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    curve: Curve  # the curve
    sizes: list[int]  # the x of its cases; empty: all of them
    x_unit: str  # unit of `sizes`
    session: int  # the last session that measured any of them


class Restarted(msgspec.Struct, kw_only=True):
    """A curve that is measured otherwise since a session: earlier ones do not count."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    curve: Curve  # the curve
    session: int  # the first session that counts
    before: str  # how it was measured: unit, and messages in flight
    now: str  # how it is measured


class LeftOut(msgspec.Struct, kw_only=True):
    """A folder that does not count."""

    folder: str  # its name
    why: str  # the reason


class History(msgspec.Struct, kw_only=True):
    """The complete file."""

    schema: int  # version of this format
    nearpeak: str  # version of Nearpeak that judged
    tolerance: float  # smaller changes are not reported: 0.05 is 5 %
    # probability that anything is found at one look at a history without a change
    error_rate: float
    since: str  # a change before this instant is no regression; empty: every change may be one
    sessions: list[Measured]  # in the order of their start: others name them by number, from 0
    # of a session with the one before it, in the library or ceiling on a path where it is largest
    correlation: float
    facts: list[Fact]  # all changes of machine, driver, libraries, build and inherited variables
    libraries: list[PlaceCourse]  # every library on every path
    ceilings: list[PlaceCourse]  # what each path carries without MPI
    events: list[Event]  # regressions first, then the newest first
    failures: list[Failing]  # what fails now, and did so less often before
    restarted: list[Restarted]  # curves that are measured otherwise now
    left_out: list[LeftOut]  # folders that could not be read, or hold a copy
    gone: list[Gone]  # curves and sizes that the newest session lacks
    judged: bool  # a course has enough sessions
    # the fewest sessions for which a loss has to last until it can be found; null: it cannot be
    seen_after: int | None

    @property
    def places(self) -> list[PlaceCourse]:
        """The places of libraries and of ceilings."""
        return self.libraries + self.ceilings

    @property
    def regressed(self) -> bool:
        """True if something became slower or fails, and still does."""
        slower = any(event.regressed for event in self.events)
        return slower or any(failing.regressed for failing in self.failures)

    @property
    def status(self) -> int:
        """The exit status of the command: 1 for a regression, 3 if nothing could be judged."""
        return 1 if self.regressed else 0 if self.judged else 3

    def course(self, part: Part) -> Course:
        """The course of a part of an event."""
        return next(course for key, course in self.parts() if key == _key(part))

    def parts(self) -> "Iterator[tuple[Key, Course]]":
        """Yields every course with its place in the file, the widest first."""
        for place in self.places:
            owner = place.who, place.place
            yield (*owner, None, None), place.course
            for curve in place.curves:
                yield (*owner, curve.curve, None), curve.course
                for case in curve.cases:
                    yield (*owner, curve.curve, case.case), case.course


Key = tuple[Who, Place, Curve | None, Case | None]


def _key(part: Part) -> Key:
    return part.who, part.place, part.curve, part.case
