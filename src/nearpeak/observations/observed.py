# SPDX-License-Identifier: Apache-2.0
"""Observations from any source: all that results are made of.

A study is one source (`sources/`). Nothing after this knows where they come from.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import quantiles
from typing import NamedTuple, TypeVar

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Machine
from nearpeak.observations.clues import Clues
from nearpeak.observations.explained import Explanation
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.benchmarks import Benchmark, Better
from nearpeak.terms.counters import Link, LinkKind, OnLink
from nearpeak.terms.identity import Case, Curve, Place, Who
from nearpeak.terms.left_out import LeftOut, never_measured
from nearpeak.terms.outcomes import Ending, NoFigure
from nearpeak.terms.path import DataPath
from nearpeak.terms.percentiles import Percentiles
from nearpeak.terms.work import Work

OUTLIER = 3.0  # interquartile ranges beyond the quartiles: Tukey's outer fences


class Block(NamedTuple):
    """The time of a launch, as two integers. Alternatives are compared within one block of one
    session."""

    session: int  # run of the study, from 0
    number: int  # number of the block


@dataclass(frozen=True)
class Session:
    """One run of a study."""

    number: int
    started: str  # ISO 8601
    nearpeak: str  # its version
    forced: bool  # continued on another machine, driver, library or build
    fingerprint: dict[str, dict[str, str]]  # "machine", "driver", "library", "build", "environment"
    added: str = ""  # how the study stood that blocks were added to; "": none were
    source: str = ""  # the file of another tool that it stands for; "": we measured


@dataclass(frozen=True)
class Library:
    """A library with its settings, as it named itself."""

    who: Who
    family: str
    version: str
    version_text: str
    env: dict[str, str]
    given: Settings
    native: bool  # the ceiling in the place of a library, which is none
    lacks: str = ""  # parts of its release that were left out
    broken: tuple[str, ...] = ()  # its modules that should have loaded and did not, a line each
    mpi: bool = True  # False: NCCL, RCCL and the ceilings
    notes: tuple[str, ...] = ()  # sentences: what its figures cover, where that is not everything
    imported: bool = False  # another tool measured it, at an unknown time
    clues: Clues = field(
        default_factory=Clues
    )  # facts on the machine and the route, where it was imported

    @property
    def scope(self) -> str:
        """All notes in one text."""
        return " ".join(self.notes)


@dataclass(frozen=True)
class Counted:
    """The bytes on links while a case was measured and verified."""

    seconds: float
    reading_us: float  # cost of a reading
    payload_bytes: int | None  # sent by all ranks in that time; None: not known
    links: dict[Link, OnLink]  # all that were read


@dataclass(frozen=True)
class Unread:
    """Links of a host that cannot be counted."""

    kind: LinkKind
    host: str
    why: str


@dataclass
class Launch:
    """One start of a program, with all ranks."""

    number: int
    block: Block
    who: Who  # CEILING for that of a ceiling
    place: Place
    curves: tuple[Curve, ...]  # what it was to measure, in this order; none for a ceiling
    status: Ending
    message: str = ""
    command: str = ""
    log: str | None = None
    conditions: dict[str, str] = field(default_factory=dict)  # where and how it ran, flattened
    tick_ns: float | None = None  # of its clock; None: it did not say where it ran
    slot_ms: float = 0.0  # time for one case; 0: not known
    at: Case | None = None  # that it did not survive, of no metric
    held_down: tuple[str, ...] = ()  # "core too hot", ...: what slowed it
    cause: str = ""  # what ended it, where that is known: not what launchers say of any end
    given_up_after: int = 0  # failures in a row, after which nothing like it was launched
    load: float | None = None  # of its host as it began: processes that run or wait, of one minute
    counted_links: tuple[Link, ...] = ()  # whose bytes were read
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True)
class Summary:
    """The summary of the samples of one case of one launch, in their unit."""

    median: float
    minimum: float | None = None  # None: not known, like the others
    count: int | None = None
    outliers: int | None = None  # labelled, and kept
    mean: bool = False  # the median is none, but the mean

    @classmethod
    def from_samples(cls, samples: Floats) -> "Summary":
        """Summarises at least one sample."""
        ordered = np.sort(samples)
        values = ordered.tolist()
        # np.percentile takes ten times as long.
        cuts = quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values
        low, middle, high = cuts
        reach = OUTLIER * (high - low)
        first = np.searchsorted(ordered, low - reach, "left")
        behind = np.searchsorted(ordered, high + reach, "right")
        outliers = len(values) - int(behind - first)
        return cls(middle, values[0], len(values), outliers)


@dataclass(frozen=True)
class Observation:
    """One case of one launch."""

    launch: Launch
    case: Case
    unit: str
    better: Better
    summary: Summary
    samples: Floats | None  # None: only the summary is known
    origin: str  # where it stands: "records.jsonl"
    window: int | None  # messages in flight; None: not known
    operations: int = 1  # of an iteration, of which a time is that of one
    first_use_us: float | None = None
    limited: str | None = None  # why it has fewer samples than asked for
    method: str = ""  # of a ceiling
    trial: bool = False  # of a ceiling's method: a few samples, where others were better
    needs: tuple[str, ...] = ()  # of a ceiling's method: what no library can count on
    # A cache line's round trip between CPUs of neighbouring ranks, the longest; None: unknown.
    cache_line_ns: float | None = None
    phases: dict[str, float] = field(default_factory=dict)  # us, medians of parts of an iteration
    shortest_phases: dict[str, float] = field(default_factory=dict)  # on the quickest rank in each
    mean_phases: dict[str, float] = field(default_factory=dict)  # of all ranks
    work: Work | None = None  # of an application
    percentiles: Percentiles | None = None  # of single iterations, with the first metric of a case
    counted: Counted | None = None  # with the first metric of a case


@dataclass(frozen=True)
class Gap:
    """A case that a launch was to measure, and did not."""

    launch: Launch
    case: Case
    status: NoFigure
    message: str
    method: str = ""  # of a ceiling
    said: bool = False  # by the program itself; else it follows from how the launch ended
    reached: bool = True  # False: the launch failed before it came to it
    at_least: float | None = None  # of a case that was given up: what it takes, in its unit


E = TypeVar("E", Observation, Gap)


def relaunched(
    entries: Iterable[E],
    launches: Mapping[int, Sequence[Launch]],
    case: Callable[[Case], Case] = lambda case: case,
) -> list[E]:
    """The entries with the launches that take the place of theirs, by their numbers."""
    return [
        replace(entry, launch=launch, case=case(entry.case))
        for entry in entries
        for launch in launches[entry.launch.number]
    ]


@dataclass
class Observations:
    """Everything that one source has to say."""

    name: str  # of the study
    started: str
    nearpeak: str  # the version that measured
    complete: bool
    machine: Machine
    paths: list[DataPath]
    libraries: list[Library]  # in the order of the plan
    benchmarks: list[Benchmark]
    curves: list[Curve]  # of libraries, in the order of the plan
    sessions: list[Session]
    ended: str = ""  # why no more was measured
    awareness: list[Awareness] = field(default_factory=list)
    explanations: list[Explanation] = field(default_factory=list)  # in the order of their files
    left_out: list[LeftOut] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    observed: list[Observation] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    @property
    def trials(self) -> list[Awareness]:
        """`awareness` without the operations that were left out before the start."""
        never = never_measured(self.left_out)
        return [trial for trial in self.awareness if trial.operation not in never]
