# SPDX-License-Identifier: Apache-2.0
"""The lines of records.jsonl (docs/reference/records.md): the raw data of a study."""

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
from nearpeak.terms.private import FreeText, Kept, Public

SCHEMA = 5


class Published(msgspec.Struct, kw_only=True, frozen=True):
    """The mark of a copy that `nearpeak publish` wrote (docs/how-to/publish.md). All digests of a
    copy were made then: they show that the copy is complete, and nothing of what was measured."""

    nearpeak: Public  # version that published
    logs: bool  # the copy has the logs


class StudyRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="study"):
    """The first line of the file."""

    schema: int  # version of this format
    id: Public  # of the study, as in `plan.json`
    nearpeak: Public  # version of Nearpeak that began the study
    started: Public  # beginning of the study, ISO 8601 in UTC
    seed: int  # determines the order of launches and of sizes
    files: dict[Public, Public] = {}  # SHA-256 of `machine.json` and `plan.json`
    published: Published | None = None  # null: no published copy


class SessionRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="session"):
    """A run of the study begins: the first one, and each `--resume` and `--extend`. Launches up to
    the next such line belong to it."""

    session: int  # number, from 0
    started: Public  # ISO 8601 in UTC
    nearpeak: Public  # version of Nearpeak that runs it
    fingerprint: Fingerprint  # facts that its numbers depend on
    forced: bool = False  # begun with `--force`: its fingerprint may differ from the session before


class AmendmentRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="amendment"):
    """The plan of a study that ended or was cut off grows, by blocks (`--resume --budget`,
    `--launches`) or by blocks and what they measure (`--extend`). The line follows the `session`
    that adds them. `plan.json` stays as it is; the order of an added block follows from the plan's
    seed and the block's number."""

    # how the study had ended before: the message of its last `study end`, or that it was cut off
    reason: FreeText
    # time for all launches that follow, without the rest of the budget before; null: no limit
    budget_seconds: float | None
    # numbers of blocks after which precision is judged, instead of the plan's; the last is the most
    # blocks
    looks: list[int]
    every: bool  # cases that were precise enough are launched again too
    asked: FreeText = ""  # options of `nearpeak study`
    adds: Addition = Addition()  # additions to the plan from the added blocks on
    # SHA-256 of all lines before this one, and of this one with an empty digest
    digest: Public = ""


class LeftOutRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="left out"):
    """Launches take longer than estimated: from the second or third block on, one of the `spare` of
    `plan.json` is not measured any more, so that the budget holds enough blocks of the rest
    (docs/methods/budget.md)."""

    block: int  # first block without it, from 0
    spare: int  # its number in `spare`, from 0
    budget_seconds: float  # budget that would have held enough blocks with it


class Chosen(msgspec.Struct, kw_only=True, frozen=True):
    """A benchmark with a value for each axis that it was given."""

    benchmark: Public  # `latency`, `bw`, ...
    axes: dict[Public, Public]  # value of each axis


class GroupRecord(msgspec.Struct, kw_only=True, frozen=True):
    """The benchmarks that a launch measures with the same buffers and state of the caches."""

    # H host, P pinned host, D device, M managed; `H,D`: H for the first half of the ranks, D for
    # the second
    buffers: Public = "H,H"
    axes: dict[Public, Public]  # `reuse` and `touch`, by which a ceiling is matched
    benchmarks: list[Chosen]  # in the order of measurement; empty for a ceiling

    @property
    def names(self) -> list[str]:
        """The names of the benchmarks."""
        return [chosen.benchmark for chosen in self.benchmarks]

    @property
    def variants(self) -> list[VariantKey]:
        """The variants of the group, as keys of a plan."""
        return [(chosen.benchmark, self.buffers, Axes(chosen.axes)) for chosen in self.benchmarks]


class LaunchRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="launch"):
    """A launch begins. It may be tried several times: the last try that was not cut off counts."""

    launch: int  # number of the try, from 0, of all tries of the study; names its log
    block: int  # the randomised block, from 0
    role: Role  # what it measures
    library: FreeText  # its name in this study; empty for a ceiling
    settings: FreeText  # name of its settings; empty for a ceiling
    path: Kept  # id of the data path
    groups: list[GroupRecord]  # measured one after the other
    # of a ceiling: the RDMA adapter that it is measured with; else null
    adapter: FreeText | None = None
    # line for a POSIX shell that starts the same launch and prints a table; the study adds `--jsonl
    # FILE`
    command: FreeText
    started: Public  # ISO 8601 in UTC
    session: int  # number of the session
    slot_ms: float  # time for one case in ms
    methods: list[Public] = []  # of a ceiling: methods that it is limited to; empty: all
    state: State | None = None  # of this host as the launch begins; null: not known


class LaunchEndRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="launch end"):
    """A launch is over. Without this line it was cut off, and `--resume` runs it again."""

    launch: int  # number of the launch
    status: Ending  # how it ended
    exit_status: int | None  # of the launcher, negative for a signal; null: it did not start
    seconds: float  # from start to end
    message: FreeText  # why it did not end well, for people; else empty
    # failures in a row without a sample, after which the same is launched no more; 0: it is
    given_up_after: int = 0
    # file with the launch's complete output, relative to the study's folder; null: none
    log: FreeText | None
    # SHA-256 of all lines before this one, and of this one with an empty digest
    digest: Public = ""
    state: State | None = None  # of this host once the launch is over; null: not known

    @property
    def text(self) -> str:
        """The message for people, with the failures after which it was given up."""
        return self.message + given_up(self.given_up_after)


class StudyEndRecord(msgspec.Struct, kw_only=True, tag_field="record", tag="study end"):
    """The study stopped. A study that was cut off has no such line; a resumed one has several, and
    the last counts."""

    # `imprecise`: the budget or the number of launches was reached before the aim of precision
    status: Literal["complete", "imprecise", "interrupted"]
    # why nothing more was launched: `every cell is precise`, `the budget is spent`, ...
    message: FreeText
    # SHA-256 of all lines before this one, and of this one with an empty digest
    digest: Public = ""


Record = (
    StudyRecord
    | SessionRecord
    | AmendmentRecord
    | LeftOutRecord
    | LaunchRecord
    | EnvironmentRecord
    | CaseRecord
    | SamplesRecord
    | ProblemRecord
    | LaunchEndRecord
    | StudyEndRecord
)
