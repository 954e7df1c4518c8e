# SPDX-License-Identifier: Apache-2.0
"""The lines of records.jsonl (docs/records.md): the raw data of a study, appended as it happens."""

from typing import Literal

import msgspec

from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.launching.program_records import (
    CaseRecord,
    EnvironmentRecord,
    ProblemRecord,
    SamplesRecord,
)
from nearpeak.machine.states import State
from nearpeak.planning.plan import Addition, Role, VariantKey
from nearpeak.terms.identity import Axes
from nearpeak.terms.outcomes import Ending, given_up

SCHEMA = 5
READABLE = (4, 5)  # in 4 the tries of a launch shared its number


class Published(msgspec.Struct, kw_only=True, frozen=True):
    """The mark of a copy that `nearpeak publish` wrote: its names and its digests are not the
    measured ones."""

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
    """The benchmarks that a launch measures with the same buffers in the same state of them."""

    buffers: str = "H,H"  # of each rank
    axes: dict[str, str]  # what is matched on of a ceiling: reuse and touch
    benchmarks: list[Chosen]  # in the order of measurement; none for a ceiling

    @property
    def variants(self) -> list[VariantKey]:
        """The variants of the group, as keys of a plan."""
        return [(chosen.benchmark, self.buffers, Axes(chosen.axes)) for chosen in self.benchmarks]


class LaunchRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="launch"):
    """A launch begins. A launch of a block may be tried several times: the last try that was not
    cut off counts."""

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
    def text(self) -> str:
        """The message for people, with the failures after which it was given up."""
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
