# SPDX-License-Identifier: Apache-2.0
"""The lines of records.jsonl (docs/records.md): the truth of a study, appended as it happens."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from nearpeak.machine.states import State
from nearpeak.study.plan import Addition, Role, VariantKey
from nearpeak.terms.benchmarks import Better
from nearpeak.terms.identity import Axes, Case
from nearpeak.terms.outcomes import Ending, given_up
from nearpeak.terms.work import Work

SCHEMA = 5
READABLE = (4, 5)  # in 4 the tries of a launch shared its number


class Published(msgspec.Struct, kw_only=True, frozen=True):
    """What a copy is that `nearpeak publish` wrote: its names and its digests are not those of what
    was measured."""

    nearpeak: str  # the version that published
    logs: bool  # whether the copy has them


class StudyRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="study"):
    """The first line of the file."""

    schema: int
    id: str
    nearpeak: str
    started: str  # ISO 8601, UTC
    seed: int
    files: dict[str, str] = {}  # SHA-256 of plan.json and machine.json
    published: Published | None = None  # None: it is no copy


class Fingerprint(msgspec.Struct, kw_only=True, frozen=True):
    """What a session's numbers depend on: what it is of -> its value, for people."""

    machine: dict[str, str]
    driver: dict[str, str]
    library: dict[str, str]
    build: dict[str, str]
    # Settings of libraries that every launch inherits; of what was recorded before: not known.
    environment: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class SessionRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="session"):
    """A run of the study begins: the first one, and every --resume and --extend."""

    session: int  # 0, 1, ...
    started: str
    nearpeak: str
    fingerprint: Fingerprint
    forced: bool = False  # begun by --force: it may differ from the session before


class AmendmentRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="amendment"):
    """The plan of a study that ended or was cut off grows, by the session that began last."""

    reason: str  # how the study stood that it is added to
    budget_seconds: float | None  # for all that follows; None: as long as it takes
    looks: list[int]  # Plan.looks from now on
    every: bool  # what was precise enough is launched again, too
    asked: str = ""  # what was asked for: options of `nearpeak study`
    adds: Addition = Addition()  # besides blocks
    digest: str = ""  # of all lines up to this one (study/seal.py)


class LeftOutRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="left out"):
    """Launches take longer than guessed: from a block on, something is not measured any more."""

    block: int
    spare: int  # index into Plan.spare
    budget_seconds: float  # that would have held enough blocks with it


class TakenUpRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="taken up"):
    """Time remains after all: from a block on, something that was left out is measured again."""

    block: int
    spare: int  # index into Plan.spare


class Chosen(msgspec.Struct, kw_only=True, frozen=True):
    """A benchmark with a value for each axis that it was given."""

    benchmark: str
    axes: dict[str, str]


class GroupRecord(msgspec.Struct, kw_only=True, frozen=True):
    """What a launch measures with the same buffers in the same state of them."""

    buffers: str = "H,H"  # of each rank
    axes: dict[str, str]  # what is matched on of a ceiling: reuse and touch
    benchmarks: list[Chosen]  # in the order of measurement; none for a ceiling

    @property
    def variants(self) -> list[VariantKey]:
        """What it measures, as a plan has it."""
        return [(chosen.benchmark, self.buffers, Axes(chosen.axes)) for chosen in self.benchmarks]


class LaunchRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="launch"):
    """A launch begins: a try of what its block launches once. Of several the last that was not cut
    off counts."""

    launch: int  # counts the tries of a study
    block: int
    role: Role
    library: str  # "" for a ceiling
    settings: str
    path: str
    groups: list[GroupRecord]  # in the order of measurement
    adapter: str | None = None  # of a ceiling: the RDMA adapter that it is measured with
    command: str  # one line for a POSIX shell
    started: str
    session: int = 0
    slot_ms: float | None = None  # time for one case
    methods: list[str] = []  # of a ceiling: what it is limited to; none: all
    state: State | None = None  # of this host as the launch begins


class EnvironmentRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="environment"):
    """What the measuring program found when it ran: written by it before each group of a launch."""

    launch: int = -1
    program: str
    version: str
    library_version: str | None  # MPI_Get_library_version; null for nearpeak-native
    ranks: list[dict[str, Any]]  # rank, host, cpus (affinity), numa_nodes, device
    clock: dict[str, float]  # tick_ns, read_ns
    env: dict[str, str]  # by allow-list


class CaseRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="case"):
    """A case of a library is about to be measured: where a launch ends before its samples or its
    problem are told, it ended in this one."""

    launch: int = -1
    benchmark: str
    size_bytes: int
    buffers: str
    axes: dict[str, str]


class SamplesRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="samples"):
    """One case of one launch, measured. `samples` are in `unit`, in the order of measurement."""

    launch: int = -1
    benchmark: str
    metric: str  # what a ceiling is matched on; a benchmark with several has a record for each
    size_bytes: int
    buffers: str  # "H,H": of the first half of the ranks, and of the second
    axes: dict[str, str]  # e.g. calls, reuse, touch, direction; every axis of the benchmark
    method: str | None  # of a ceiling; null for MPI
    unit: str  # "us", "GB/s", "M/s", "GLUP/s" or "ratio"
    better: Better
    samples: list[float]
    batch: int  # iterations in one sample
    kept_every: int  # of the timed samples every n-th was kept
    iterations: int  # timed, in all
    warmup_iterations: int
    first_use_us: float  # the first exchange of this case: first touch, handles, registration
    window: int  # messages in flight
    seconds: float  # spent on this case, all in all
    limited: str | None = None  # why fewer samples than asked for were taken
    offset: int = 0  # bytes from a page boundary to the first buffer
    verified: bool = True  # whether what arrived was looked at
    # Of a ceiling's method, what no library can count on: "gpu", it holds the GPU between messages;
    # "window", it has all messages of a window before it moves the first.
    needs: list[str] = []
    trial: bool = False  # of a ceiling's method: a few samples, where others were better
    # Of each rank but the last: a cache line's round trip to the next one's CPU, right before the
    # samples; None: not measured.
    cache_line_ns: list[float | None] = []
    phases: dict[str, list[float]] = {}  # us of each sample that went into a part of it
    shortest_phases: dict[str, list[float]] = {}  # of the rank that took least, of applications
    mean_phases: dict[str, list[float]] = {}  # of all ranks, likewise
    work: Work | None = None  # of an application
    ranks: list[list[float]] | None = None  # the samples of every rank, where they were kept

    @property
    def apart_ns(self) -> float | None:
        """How far apart the CPUs of any two ranks were; None where that was not measured."""
        return max((ns for ns in self.cache_line_ns if ns), default=None)


class ProblemRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="problem"):
    """A case that gave no believable number."""

    launch: int = -1
    benchmark: str
    size_bytes: int
    buffers: str
    axes: dict[str, str]
    method: str | None = None
    status: Literal["wrong data", "skipped", "aborted: too slow"]
    message: str
    rank: int | None = None  # wrong data: where, and the first bad byte of the message
    byte: int | None = None
    expected: int | None = None
    got: int | None = None
    at_least: float | None = None  # too slow: what one iteration came to, in the metric's unit


def case_of(record: CaseRecord | SamplesRecord | ProblemRecord, metric: str) -> Case:
    """What a record is of, in one metric of its benchmark."""
    return Case(
        benchmark=record.benchmark,
        metric=metric,
        buffers=record.buffers,
        axes=record.axes,
        x=record.size_bytes,
    )


def timed(records: Iterable[SamplesRecord]) -> list[SamplesRecord]:
    """One record of each case and method: all metrics of a case were measured at once."""
    return list({(case_of(record, ""), record.method): record for record in records}.values())


class LaunchEndRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="launch end"):
    """A launch is over. Without this line it was cut off, and --resume runs it again."""

    launch: int
    status: Ending
    exit_status: int | None
    seconds: float
    message: str
    # Failures in a row without a sample, after which nothing like it is launched any more; 0: it is
    given_up_after: int = 0
    log: str | None  # the launch's whole output, relative to the study folder
    digest: str = ""  # of all lines up to this one (study/seal.py)
    state: State | None = None  # of this host once it is over

    @property
    def words(self) -> str:
        """What is known of it, for people."""
        return self.message + given_up(self.given_up_after)


class StudyEndRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="study end"):
    """The study stopped. Without this line it was cut off; a later one (--resume) counts."""

    # "imprecise": the budget, or the most launches, came before precision
    status: Literal["complete", "imprecise", "interrupted"]
    message: str  # why no more was launched: "every cell is precise", "the budget is spent", ...
    digest: str = ""  # of all lines up to this one (study/seal.py)


Record = (
    StudyRecord
    | SessionRecord
    | AmendmentRecord
    | LeftOutRecord
    | TakenUpRecord
    | LaunchRecord
    | EnvironmentRecord
    | CaseRecord
    | SamplesRecord
    | ProblemRecord
    | LaunchEndRecord
    | StudyEndRecord
)


def written(jsonl: Path) -> list[Record]:
    """The records of a launch that is over, without a half line at the end."""
    if not jsonl.exists():
        return []
    return [
        msgspec.json.decode(line, type=Record)
        for line in jsonl.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    ]
