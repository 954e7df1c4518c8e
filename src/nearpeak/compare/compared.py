# SPDX-License-Identifier: Apache-2.0
"""compare.json (docs/compare.md): a new side of studies, compared with an old one."""

from typing import Literal

import msgspec

from nearpeak.statistics.verdicts import UNDECIDED, Word
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.outcomes import Lost

SCHEMA = 2
Side = Literal["old", "new"]
Lacks = Literal["path", "library", "benchmark", "curve"]


class Session(msgspec.Struct, kw_only=True):
    """One run of one study, on one side."""

    side: Side
    study: str  # id
    folder: str
    session: int  # in its study
    started: str
    host: str
    loaded: bool = False  # other work took the ranks' time


class Difference(msgspec.Struct, kw_only=True):
    """A difference of the machines, drivers, libraries or builds, or of a variable that launches
    inherited."""

    part: str  # "variable", "machine", "driver", "library", "build"
    name: str
    old: str  # each value of the side once, joined by " or "
    new: str


class Ratio(msgspec.Struct, kw_only=True):
    """The ratio of new to old; above 1 the new side is better, whatever the metric."""

    ratio: float  # of the means over sessions
    ci95: tuple[float, float] | None
    p_value: float  # not adjusted for other comparisons


class OfCeiling(Ratio, kw_only=True):
    """The ratio of fractions of the ceiling."""

    cases: int  # whose fractions both sides have


class Change(Ratio, kw_only=True):
    """A ratio, and the verdict on it."""

    p_adjusted: float  # for all that is compared
    verdict: Word  # on the new side; never "two modes"
    # What a verdict lacks, as a side has one session: a "control" (its ceiling, measured with it),
    # or another "session"; "": nothing.
    lacks: Literal["", "control", "session"] = ""
    # The interval if sessions did not differ: by the scatter of launches only.
    alone: tuple[float, float] | None
    regressed: bool  # slower, and the ratio is worse than the tolerance
    # Of each session of `Compared.sessions`: to the mean of the old side. Null: not measured there.
    history: list[float | None]


class CellChange(msgspec.Struct, kw_only=True):
    """One case."""

    case: Case
    x_unit: str = "B"  # what its `x` counts
    change: Change
    unit: str
    old: float  # median over all launches of the side, in the unit
    new: float


class CurveChange(msgspec.Struct, kw_only=True):
    """One curve: the mean over its cases, which are judged after it."""

    curve: Curve
    change: Change
    of_ceiling: OfCeiling | None  # null: a side has no fractions
    cells: list[CellChange]

    @property
    def changes(self) -> list[Change]:
        """The change of the curve, and those of its cases."""
        return [self.change, *(cell.change for cell in self.cells)]


class Distance(msgspec.Struct, kw_only=True):
    """Measurements by the distance of the CPUs of neighbouring ranks."""

    range_ns: tuple[float, float] | None  # a cache line's round trip; null: unknown
    old: int  # measurements (a case of a launch) of the old side,
    new: int  # and of the new one
    compared: bool = False  # figures are compared at this one


class PlaceChange(msgspec.Struct, kw_only=True):
    """A library at one place, or its ceiling: the mean over its curves, judged after it."""

    who: Who  # CEILING for what the path carries without MPI
    place: Place
    change: Change
    of_ceiling: OfCeiling | None
    curves: list[CurveChange]
    # Empty where they do not differ. If all are known, figures are compared at one of them.
    distances: list[Distance]
    moved: bool = False  # most measurements of the new side are at another distance
    # A side has no launch at that distance, in some case: nothing is judged.
    inseparable: bool = False
    # Cases with few launches of a side at that distance: other launches were corrected to it.
    levelled: int = 0
    # Where something of it is slower: inherited variables that differ and that it may read.
    reasons: list[str] = []

    @property
    def changes(self) -> list[Change]:
        """The change of the place, those of its curves and those of their cases."""
        return [self.change, *(change for curve in self.curves for change in curve.changes)]


class End(msgspec.Struct, kw_only=True):
    """A way in which launches failed, and the case."""

    status: Lost
    case: Case | None  # of no metric; null: not in a case, or it is not known in which
    x_unit: str = "B"  # what its `x` counts
    tries: int  # that ended so


class Tries(msgspec.Struct, kw_only=True):
    """Tries of one side, and their failures. A try is a block."""

    tried: int
    failed: int
    ended: list[End]  # how those failed; the most frequent first


class Failing(msgspec.Struct, kw_only=True):
    """An alternative at a place, or a curve of it, that failed on the new side."""

    who: Who
    place: Place
    curve: Curve | None  # of no metric; null: anything that is measured there
    old: Tries
    new: Tries
    p_value: float  # one-sided, that the new side fails no more often; not adjusted
    p_adjusted: float  # for all questions about failures
    wrong_data: bool  # only on the new side: a regression, however rare
    needed: int | None  # tries of each side to judge it at the present rates; null: none, or > 1000
    regressed: bool  # significantly more often, or wrong data


class Missing(msgspec.Struct, kw_only=True):
    """A curve that the old side measured, and that the new side has no value of."""

    who: Who
    place: Place
    curve: Curve
    lacks: Lacks  # the most that the new side lacks
    # Its launches failed on the new side, which is judged by their counts: Compared.failures.
    failed: bool = False
    # The budget of the new side left it out: a --budget that has it, by that study's estimate.
    budget_seconds: float | None = None


class Unmatched(msgspec.Struct, kw_only=True):
    """Cases of an alternative at one place that cannot be compared."""

    who: Who
    place: Place
    why: str
    cases: int


class Compared(msgspec.Struct, kw_only=True):
    """The whole of compare.json."""

    schema: int
    nearpeak: str  # the version that compared
    tolerance: float  # how much a new figure may be worse than an old one, relative
    sessions: list[Session]  # of the old side, then of the new one, each in order of their start
    differences: list[Difference]
    libraries: list[PlaceChange]
    ceilings: list[PlaceChange]
    failures: list[Failing]
    missing: list[Missing]
    allow_missing: bool  # whether that is no regression
    unmatched: list[Unmatched]
    # Whether anything is, or is missing though that is not allowed and no launch of it failed.
    regressed: bool
    # The smallest detectable change, relative: the median over libraries and ceilings of the reach
    # of their intervals, not adjusted for other comparisons; null: no change is detectable.
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

    def count(self, side: Side) -> int:
        """Counts the sessions of a side."""
        return sum(session.side == side for session in self.sessions)
