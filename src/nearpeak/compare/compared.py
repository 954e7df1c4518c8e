# SPDX-License-Identifier: Apache-2.0
"""compare.json (docs/how-to/compare.md): a new side of studies, compared with an old one."""

from typing import Literal

import msgspec

from nearpeak.statistics.verdicts import UNDECIDED, Word
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.outcomes import Lost

SCHEMA = 2
Side = Literal["old", "new"]
Lacks = Literal[
    "path",  # everything on the path
    "library",  # the library on the path
    "benchmark",  # the benchmark
    "curve",  # this curve only
]


class Measured(msgspec.Struct, kw_only=True):
    """One run of one study."""

    study: str  # its id
    folder: str  # where it was read from
    session: int  # its number in the study, from 0
    started: str  # ISO 8601 in UTC
    host: str  # where it ran
    loaded: bool = False  # other work took time of the ranks


class Session(Measured, kw_only=True):
    """One run of one study, on one side."""

    side: Side  # the side


class Difference(msgspec.Struct, kw_only=True):
    """A difference of the machines, drivers, libraries or builds, or of a variable that launches
    inherited."""

    part: str  # `variable` (inherited by launches), `machine`, `driver`, `library` or `build`
    name: str  # of the difference
    old: str  # values of the old side, joined by ` or `; `none`
    new: str  # values of the new side, joined in the same way


class Ratio(msgspec.Struct, kw_only=True):
    """The ratio of new to old; above 1 the new side is better, whatever the metric."""

    ratio: float  # of the means over sessions
    ci95: tuple[float, float] | None  # 95 % interval; null: one launch of each side
    p_value: float  # of no difference, for this comparison only


class OfCeiling(Ratio, kw_only=True):
    """New to old of the fractions of the ceiling, in the blocks that measured both; above 1: the
    new side is better."""

    cases: int  # cases with fractions on both sides; others count in the ratio of the figures only


class Change(Ratio, kw_only=True):
    """New to old of the figures, and the verdict on it; above 1: the new side is better."""

    p_adjusted: float  # for all that is compared, libraries and ceilings
    verdict: Word  # on the new side; never `two modes`
    # missing for a verdict on a single session: `control` (its ceiling, measured with it on both
    # sides), or another `session`; empty: nothing
    lacks: Literal["", "control", "session"] = ""
    # the interval if sessions did not differ, by the scatter of launches only; null: none
    alone: tuple[float, float] | None
    regressed: bool  # slower, and worse than the tolerance
    # of each of `sessions`, relative to the mean of the old side; null: not measured there
    history: list[float | None]


class CellChange(msgspec.Struct, kw_only=True):
    """One case."""

    case: Case  # the case
    x_unit: str = "B"  # unit of its `x`: `B`, or of an application for instance `cells`
    change: Change  # of the figures
    unit: str  # of `old` and `new`
    # median over the judged launches of the old side, as at the compared distance of the CPUs
    old: float
    new: float  # the same of the new side


class CurveChange(msgspec.Struct, kw_only=True):
    """One curve: the mean over its cases, which are judged after it."""

    curve: Curve  # the curve
    change: Change  # of the mean over its cases
    of_ceiling: OfCeiling | None  # of its fractions; null: a side has none
    cells: list[CellChange]  # in the order of the size

    @property
    def changes(self) -> list[Change]:
        """The change of the curve, and those of its cases."""
        return [self.change, *(cell.change for cell in self.cells)]


class Distance(msgspec.Struct, kw_only=True):
    """A distance between the CPUs of neighbouring ranks, and the measurements at it."""

    # round trip of a cache line in ns, least and most; null: not measured
    range_ns: tuple[float, float] | None
    old: int  # measurements (a case of a launch) of the old side
    new: int  # measurements of the new side
    compared: bool = False  # figures are compared at this distance


class PlaceChange(msgspec.Struct, kw_only=True):
    """A library, or a ceiling, on one path: the mean over its curves."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    change: Change  # of the mean over its curves
    of_ceiling: OfCeiling | None  # of its fractions; null: a side has none
    curves: list[CurveChange]  # each curve
    distances: list[Distance]  # of the CPUs; empty: all launches had the same
    # most measurements of the new side are at another distance than most of the old side
    moved: bool = False
    # nothing is judged: in some case, a side has no launch at the compared distance
    inseparable: bool = False
    # cases with fewer than six launches of a side at that distance: launches at others were
    # corrected to it
    levelled: int = 0
    # if a part is slower: inherited variables that differ and that it may read; else empty
    reasons: list[str] = []

    @property
    def changes(self) -> list[Change]:
        """The change of the place, those of its curves and those of their cases."""
        return [self.change, *(change for curve in self.curves for change in curve.changes)]


class End(msgspec.Struct, kw_only=True):
    """A way in which launches failed, and the case."""

    status: Lost  # how they ended
    case: Case | None  # with an empty metric; null: in no case, or not known
    x_unit: str = "B"  # unit of its `x`
    tries: int  # tries that ended so


class Tries(msgspec.Struct, kw_only=True):
    """The tries of one side. Curves with the same tries and failures as the complete path are
    reported once."""

    tried: int  # blocks whose launches came to it
    failed: int  # blocks in which one failed
    ended: list[End]  # how, the most frequent first


class Failing(msgspec.Struct, kw_only=True):
    """A library or a ceiling on a path, or one of its curves, that failed on the new side."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    curve: Curve | None  # with an empty metric; null: anything on the path
    old: Tries  # tries of the old side
    new: Tries  # tries of the new side
    p_value: float  # one-sided, of no more failures than before, for this question only
    p_adjusted: float  # for all questions about failures
    wrong_data: bool  # wrong data on the new side only: a regression, however rare
    # tries of each side to judge it at the present rates; null: judged, no more failures than
    # before, or above 1000
    needed: int | None
    regressed: bool  # significantly more often than before, or `wrong_data`


class Missing(msgspec.Struct, kw_only=True):
    """A curve that the old side measured, and of which the new side has no value at any size."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    curve: Curve  # the curve
    lacks: Lacks  # the most that the new side lacks
    # its launches failed on the new side: `failures` counts them, so that this is no regression of
    # its own
    failed: bool = False
    # a `--budget` that has it, by the new study, whose budget left it out; null: it did not
    budget_seconds: float | None = None


class Unmatched(msgspec.Struct, kw_only=True):
    """Cases of an alternative at one place that cannot be compared."""

    who: Who  # the library; empty for the ceiling
    place: Place  # the path
    why: str  # why it is not compared
    cases: int  # number of cases


class Compared(msgspec.Struct, kw_only=True):
    """The complete file."""

    schema: int  # version of this format
    nearpeak: str  # version of Nearpeak that compared
    tolerance: float  # how much worse a new figure may be: 0.05 is 5 %
    sessions: list[Session]  # of the old side, then of the new one, each in order of their start
    # between machines, drivers, libraries, builds and inherited variables
    differences: list[Difference]
    libraries: list[PlaceChange]  # every library on every path that both sides measured
    ceilings: list[PlaceChange]  # what each path carries without MPI
    failures: list[Failing]  # failures on the new side of what was tried on the old one
    missing: list[Missing]  # what the new side did not measure at all
    allow_missing: bool  # `--allow-missing` was given: missing curves are no regression
    unmatched: list[Unmatched]  # what else is not compared
    # exit status 1: a regression, or something missing without a failure that is not allowed
    regressed: bool
    # smallest detectable relative change: median over libraries and ceilings of the reach of their
    # intervals, not adjusted; null: none is detectable
    tells_from: float | None = None

    @property
    def places(self) -> list[PlaceChange]:
        """The places of libraries and of ceilings."""
        return self.libraries + self.ceilings

    @property
    def judged(self) -> bool:
        """True if a curve has a verdict, or a place over all its curves. A verdict on one size of a
        curve does not suffice."""
        curves = (curve.change for place in self.places for curve in place.curves)
        changes = [*(place.change for place in self.places), *curves]
        return any(change.verdict != UNDECIDED for change in changes)

    @property
    def status(self) -> int:
        """The exit status of the command: 1 for a regression, 3 if nothing could be judged."""
        return 1 if self.regressed else 0 if self.judged else 3

    def count(self, side: Side) -> int:
        """Counts the sessions of a side."""
        return sum(session.side == side for session in self.sessions)
