# SPDX-License-Identifier: Apache-2.0
"""Reads a study folder: plan.json, machine.json and the truth, records.jsonl."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from nearpeak.errors import UserError
from nearpeak.machine.model import Machine
from nearpeak.study import journal, model, older, records
from nearpeak.study.answers import NO_PLACE, Answers

T = TypeVar("T")


@dataclass
class Case:
    """One case of one launch; the samples stand here as an array, not in the record."""

    record: records.SamplesRecord
    samples: NDArray[np.float64]  # in record.unit

    @property
    def identity(self) -> tuple[str, int, str, dict[str, str], str | None]:
        """What tells it from the other cases of its launch, which have other samples."""
        record = self.record
        return record.benchmark, record.size_bytes, record.buffers, record.axes, record.method


@dataclass
class LaunchData:
    """Everything recorded of one launch. Without an end it was cut off; its cases still count."""

    begin: records.LaunchRecord
    environment: records.EnvironmentRecord | None = None
    cases: list[Case] = field(default_factory=list)
    problems: list[records.ProblemRecord] = field(default_factory=list)
    end: records.LaunchEndRecord | None = None
    misplaced: str = NO_PLACE  # why it did not run where it was to run; "" when it did

    @property
    def believable(self) -> list[Case]:
        """The cases whose numbers may be used.

        Each was verified before it was written, so it counts whatever became of the launch later.
        Not so when the launch was not what was asked for ("failed"), when its data was wrong and
        nobody knows in which case, or for the very cases whose data was wrong.
        """
        status = self.end.status if self.end else "ok"
        wrong = [p for p in self.problems if p.status == "wrong data"]
        if self.misplaced or status == "failed" or (status == "wrong data" and not wrong):
            return []
        bad = [(p.benchmark, p.size_bytes, p.buffers, p.axes, p.method) for p in wrong]
        return [case for case in self.cases if case.identity not in bad]


@dataclass
class StudyData:
    """A study folder as it was read; `launches` in the order of their last beginning."""

    study: records.StudyRecord
    plan: model.Plan
    machine: Machine
    launches: list[LaunchData]
    complete: bool  # its last run came to its end


def load(folder: Path) -> StudyData:
    """The study in `folder`.

    A launch that began twice counts from its last beginning. A last line that was cut off (the
    study was killed, or the disk was full) is left out; any other bad line is an error.

    Raises:
        UserError: no study there, one of another schema, or a file that cannot be read.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give the folder that `nearpeak study` wrote")
    for name in (journal.NAME, "plan.json", "machine.json"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder}: no {name} there; give the folder that `nearpeak study` wrote"
            )
    plan = _decode(folder / "plan.json", model.Plan, model.SCHEMA)
    study, launches, complete = _read_records(folder, plan)
    machine = _decode(folder / "machine.json", Machine, None)
    return StudyData(study, plan, machine, launches, complete)


def _decode(path: Path, kind: type[T], schema: int | None) -> T:
    try:
        plain = msgspec.json.decode(path.read_bytes())
        if schema is not None:
            plain = older.upgraded(plain)
            if plain["schema"] != schema:
                raise UserError(
                    f"{path}: schema {plain['schema']}, this nearpeak reads schema {schema}: "
                    "use the nearpeak that wrote it, or start anew in another folder"
                )
        return msgspec.convert(plain, type=kind, dec_hook=_decode_path, str_keys=True)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): mend that") from None
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: damaged ({error}); restore it from a copy or measure anew"
        ) from None


def _decode_path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError(kind)


def _read_records(
    folder: Path, plan: model.Plan
) -> tuple[records.StudyRecord, list[LaunchData], bool]:
    """The first record, the launches, and whether the last run came to its end."""
    study: records.StudyRecord | None = None
    launches: dict[int, LaunchData] = {}
    complete = False
    answers = Answers(plan)
    for record in journal.read_records(folder, answers.take):
        if isinstance(record, records.StudyRecord):
            study = study or record
        elif isinstance(record, records.SessionRecord):
            pass
        elif isinstance(record, records.StudyEndRecord):
            complete = record.status == "complete"
        elif isinstance(record, records.LaunchRecord):
            launches.pop(record.launch, None)
            launches[record.launch] = LaunchData(record)
            complete = False
        else:
            _add(launches[record.launch], record, answers)
    if study is None or not launches:
        raise UserError(
            f"{folder}: no launch was recorded there; run `nearpeak study --resume -o {folder}`"
        )
    return study, list(launches.values()), complete


def _add(
    launch: LaunchData,
    record: records.EnvironmentRecord
    | records.SamplesRecord
    | records.ProblemRecord
    | records.LaunchEndRecord,
    answers: Answers,
) -> None:
    if isinstance(record, records.SamplesRecord):
        samples = np.array(record.samples, dtype=np.float64)
        record.samples = []  # a million boxed numbers are not worth their memory
        launch.cases.append(Case(record, samples))
    elif isinstance(record, records.ProblemRecord):
        launch.problems.append(record)
    elif isinstance(record, records.EnvironmentRecord):
        launch.environment = record
        launch.misplaced = answers.misplaced
    else:
        launch.end = record
        if record.status == "ok" and (lacking := answers.lacking()):
            record.status, record.message = "failed", lacking  # as it would be recorded today
