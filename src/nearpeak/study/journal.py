# SPDX-License-Identifier: Apache-2.0
"""records.jsonl, the raw data of a study: sealed records, appended as they happen."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from nearpeak import journal
from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.journal import CannotWriteError, whole_lines
from nearpeak.planning.plan import Plan
from nearpeak.study.records import SCHEMA, AmendmentRecord, Record, StudyRecord
from nearpeak.study.seal import Seal, check_files
from nearpeak.terms.study_files import PLAN

NAME = "records.jsonl"
_AMENDMENT = f'{{"record":"{AmendmentRecord.__struct_config__.tag}"'.encode()


def cannot_write(folder: Path, error: OSError | None) -> CannotWriteError:
    """Returns the error for a write that failed (None: the disk is nearly full)."""
    resume = journal.resume_study(folder) if (folder / PLAN).exists() else ""
    return journal.cannot_write(folder, error, resume)


class DamagedError(UserError):
    """A line cannot be believed. `sealed_bytes`, `sealed_line`: the end and the number of the last
    line before it whose digest is right; 0: there is none."""

    def __init__(self, problem: str, folder: Path, sealed_bytes: int, sealed_line: int) -> None:
        super().__init__(
            f"{problem}: take the study's folder from a copy made before, or measure again what it"
            f" lacks with `{journal.resume_study(folder)}`"
        )
        self.problem = problem
        self.sealed_bytes = sealed_bytes
        self.sealed_line = sealed_line


class StudyJournal:
    """The open records.jsonl of one study."""

    def __init__(self, folder: Path) -> None:
        """Opens or creates the file; UserError when it cannot be, or when another study has it."""
        file = folder / NAME
        self._lines = journal.Journal(file, journal.resume_study(folder))
        self._encode = msgspec.json.Encoder(enc_hook=str).encode
        self._seal = Seal(file.read_bytes())

    def append(self, record: Record, *, sync: bool = False) -> None:
        """Adds one line; with `sync` it is on the disk when this returns. CannotWriteError."""
        line = self._seal.line(record, self._encode)
        self._lines.append(line, sync=sync)
        self._seal.take(line)

    def close(self) -> None:
        """Closes the file and releases its lock."""
        self._lines.close()


def read_records(
    folder: Path, check: Callable[[Record], None] = lambda _: None
) -> Iterator[Record]:
    """Every record of a study in order; a half line at the end is left out.

    `check` raises ValueError, or an error of msgspec, for a record that cannot be.

    UserError for a file that cannot be read or is of another schema, and for a line that is no
    record, fails the check or is not as it was written (its number is named).
    """
    file = folder / NAME
    decode = msgspec.json.Decoder(Record, dec_hook=decode_path).decode
    seal = Seal()
    size = sealed_bytes = sealed_line = 0
    for number, line in enumerate(_lines(file), start=1):
        if number == 1:
            _check_schema(file, line)
        with _believing(file, number, sealed_bytes, sealed_line):
            record = decode(line)
            check(record)
            sealed = seal.check(line, record)
            seal.take(line)
        size += len(line)
        if sealed:
            sealed_bytes, sealed_line = size, number
        if isinstance(record, StudyRecord):
            check_files(folder, record)
        yield record


def read_start(folder: Path) -> StudyRecord | None:
    """Returns the first record of a study; None if nothing was recorded. UserError as of
    `read_records`."""
    first = next(read_records(folder), None)
    assert first is None or isinstance(first, StudyRecord)  # as its schema was checked
    return first


def grown(plan: Plan, folder: Path) -> Plan:
    """Returns a plan with all that was added to it since it was written; UserError as of
    `read_records`, which checks additions too."""
    file = folder / NAME
    decode = msgspec.json.Decoder(AmendmentRecord, dec_hook=decode_path).decode
    for number, line in enumerate(_lines(file), start=1):
        if number == 1:
            _check_schema(file, line)
        if line.startswith(_AMENDMENT):
            with _believing(file, number):
                plan = plan.grown(decode(line).adds)
    return plan


@contextlib.contextmanager
def _believing(
    file: Path, number: int, sealed_bytes: int = 0, sealed_line: int = 0
) -> Iterator[None]:
    """Raises DamagedError for a line that cannot be."""
    try:
        yield
    except UNDECODABLE as error:
        problem = f"{file} line {number} cannot be believed ({error})"
        raise DamagedError(problem, file.parent, sealed_bytes, sealed_line) from None


def decode_path(kind: type, value: Any) -> Any:
    """Decodes paths in the files of a study, as msgspec's hook."""
    if kind is Path:
        return Path(value)
    raise NotImplementedError(kind)


def _lines(file: Path) -> Iterator[bytes]:
    try:
        yield from whole_lines(file)
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): choose a study folder") from (
            None
        )


def _check_schema(file: Path, line: bytes) -> None:
    """UserError where the first record is of another schema."""
    try:
        first = msgspec.json.decode(line)
        schema = first["schema"]
        if first["record"] != StudyRecord.__struct_config__.tag:
            raise KeyError
    except (*UNDECODABLE, KeyError, TypeError):
        raise UserError(f"{file} does not start with a study record: choose a study folder") from (
            None
        )
    if schema != SCHEMA:
        raise UserError(
            f"{file} has schema {schema}, this nearpeak reads schema {SCHEMA}: "
            "use the nearpeak that wrote it, or start anew in another folder"
        )
