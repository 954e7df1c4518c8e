# SPDX-License-Identifier: Apache-2.0
"""tune.jsonl, the raw data of a search: appended as it happens, played back by --resume."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from nearpeak import journal
from nearpeak.libraries.rules import Table
from nearpeak.terms.benchmarks import Better
from nearpeak.terms.private import FreeText, HostName, Kept, Public, Variables
from nearpeak.tune.budget import Budget
from nearpeak.tune.tuned import Ceiling

NAME = "tune.jsonl"
SCHEMA = 1


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """The options of a search, as given."""

    mpi: FreeText
    targets: FreeText
    path: FreeText | None
    buffers: Public
    budget_seconds: float
    seed: int


class Begin(msgspec.Struct, kw_only=True, tag_field="record", tag="tune"):
    """The first line."""

    schema: int
    nearpeak: Public
    started: Public
    asked: Asked
    library: FreeText
    family: Public
    version: Public
    build: FreeText = ""  # as a profile's
    components: dict[FreeText, FreeText] = {}
    path: Kept
    path_summary: FreeText
    host: HostName
    cpu: FreeText
    gpus: list[FreeText]
    driver: FreeText | None
    candidates: list[Variables]
    study_seconds: float = 0.0  # of the smallest confirming study, overrun included


class Trial(msgspec.Struct, kw_only=True, tag_field="record", tag="trial"):
    """One launch with all targets."""

    why: FreeText
    env: Variables
    values: list[float]  # of each target, in `units`; none where it failed
    units: list[Public] = []
    better: list[Public] = []
    failed: FreeText = ""
    distance_ns: float | None = None  # between the ranks' CPUs
    seconds: float


class Hinted(msgspec.Struct, kw_only=True, tag_field="record", tag="hints"):
    """The settings that rules named for an explanation: tried first."""

    named: list[tuple[FreeText, FreeText]]  # variables and values
    over_ucx: bool | None = None  # whether messages go over UCX; None: not known
    seconds: float


class Calibrated(msgspec.Struct, kw_only=True, tag_field="record", tag="calibration"):
    """The ceilings that were measured for the library's own cost model."""

    ceilings: list[Ceiling]
    seconds: float


class Crossed(msgspec.Struct, kw_only=True, tag_field="record", tag="thresholds"):
    """The sizes at which the two protocols of thresholds cross: tried first."""

    found: list[tuple[FreeText, FreeText]]  # variables and values
    seconds: float


class Ruled(msgspec.Struct, kw_only=True, tag_field="record", tag="rules"):
    """The faster algorithms of collective operations, by size: tried first."""

    tables: list[Table]  # of the file that is tried; none: nothing is faster
    file: FreeText  # its path, which trials name
    seconds: float


class Checked(msgspec.Struct, kw_only=True, tag_field="record", tag="check"):
    """The operations that work with these variables."""

    env: Variables
    ends: dict[FreeText, FreeText]  # by operation, buffers and path: empty, or how it ended
    complete: bool = True  # False: the time was over before all were checked
    seconds: float


class Figure(msgspec.Struct, kw_only=True, frozen=True):
    """A case of a launch."""

    case: FreeText
    value: float
    unit: Public
    better: Better


class Priced(msgspec.Struct, kw_only=True, tag_field="record", tag="price"):
    """One launch on another path than that of the targets."""

    env: Variables
    place: FreeText
    figures: list[Figure]  # none where it failed
    failed: FreeText = ""
    seconds: float


class Amended(msgspec.Struct, kw_only=True, tag_field="record", tag="amendment"):
    """Time that was added to a tuning that ended or was cut off."""

    budget_seconds: float  # for all that follows
    asked: FreeText  # options of `nearpeak tune`
    study: bool  # the study that confirms had begun, and has all of the time


Record = Begin | Hinted | Crossed | Ruled | Calibrated | Trial | Checked | Priced | Amended


FORM = journal.Form[Begin, Record](
    name=NAME, schema=SCHEMA, command="tune", whose="`nearpeak tune`", first=Begin, lines=Record
)
resume_command, read = FORM.resume_command, FORM.read


def seconds_of(records: Sequence[Record]) -> float:
    """Returns the seconds that all records took."""
    return sum(record.seconds for record in records if not isinstance(record, Begin | Amended))


def tables_of(records: Sequence[Record]) -> list[Table]:
    """Returns the tables of the file of rules that trials name."""
    return [table for record in records if isinstance(record, Ruled) for table in record.tables]


def budget_of(records: Sequence[Record]) -> Budget:
    """Returns the budget in force after these records."""
    begun = FORM.begin(list(records))
    budget = Budget(begun.asked.budget_seconds, study=begun.study_seconds)
    for number, record in enumerate(records):
        if isinstance(record, Amended):
            spent = seconds_of(records[:number])
            budget = Budget(record.budget_seconds, spent, begun.study_seconds)
    return budget


class TuneJournal(journal.RunJournal[Begin, Record]):
    """The open tune.jsonl of one search."""

    def __init__(self, folder: Path, begin: Begin | None = None) -> None:
        """Opens the journal, as RunJournal does."""
        super().__init__(FORM, folder, begin)
