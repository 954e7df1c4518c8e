# SPDX-License-Identifier: Apache-2.0
"""records.jsonl: whole lines appended as they happen, so that nothing recorded is ever lost."""

import errno
import fcntl
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.files import sync
from nearpeak.study.records import SCHEMA, Record, StudyRecord
from nearpeak.study.seal import Seal, check_files

NAME = "records.jsonl"
_FULL = (errno.ENOSPC, errno.EDQUOT)
# A launch that fails with less than this left on the disk is taken to have failed for that.
LEAST_FREE_BYTES = 64 * 1024


class CannotWriteError(Exception):
    """The study folder took no more data; the message is one line that says what to do."""


def cannot_write(folder: Path, error: OSError | None) -> CannotWriteError:
    """Words for a write that failed (None: the disk is all but full)."""
    if error is None or error.errno in _FULL:
        why = f"no space is left for {folder}: free some"
    else:
        why = f"{folder} cannot be written ({error.strerror}): make it writable"
    return CannotWriteError(f"{why}, then `{resume_command(folder)}` completes it")


def resume_command(folder: Path, *more: str) -> str:
    """The line for a POSIX shell that goes on with the study in a folder."""
    return shlex.join(["nearpeak", "study", "--resume", "-o", str(folder), *more])


def disk_is_full(folder: Path) -> bool:
    """Whether the folder's disk has hardly any space left."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES


class Journal:
    """The open records.jsonl of one study, locked against a second writer.

    Each record is one whole line at the end of the file. A line that does not fit
    is taken back before CannotWriteError is raised.
    """

    def __init__(self, folder: Path) -> None:
        """Opens or creates the file; UserError when it cannot be, or when another study has it."""
        self._folder = folder
        try:
            self._file = os.open(folder / NAME, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            sync(folder)  # its name is on the disk
        except OSError as error:
            raise UserError(
                f"cannot write into {folder} ({error.strerror}): choose another folder with -o"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise UserError(
                f"another study is writing into {folder}: wait for it, or choose another with -o"
            ) from None
        except OSError as error:  # some file systems have no locks
            print(
                f"nearpeak: {folder} cannot be locked ({error.strerror}): "
                "start no second study that writes into it",
                file=sys.stderr,
            )
        self._cut_half_line()
        self._encode = msgspec.json.Encoder().encode
        self._seal = Seal((folder / NAME).read_bytes())

    def append(self, record: Record, *, sync: bool = False) -> None:
        """Adds one line; with `sync` it is on the disk when this returns."""
        line = self._seal.line(record, self._encode)
        before = os.fstat(self._file).st_size
        try:
            left = memoryview(line)
            while left:  # a disk may take a part, and say why with the rest
                left = left[os.write(self._file, left) :]
            if sync:
                os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)
            raise cannot_write(self._folder, error) from None
        self._seal.take(line)

    def close(self) -> None:
        """Gives the file and its lock back."""
        os.close(self._file)

    def _cut_half_line(self) -> None:
        """Cuts off a last line without its end, which a killed study may have left."""
        end = os.fstat(self._file).st_size
        keep = end
        while keep > 0:
            start = max(0, keep - 65536)
            found = os.pread(self._file, keep - start, start).rfind(b"\n")
            if found >= 0:
                keep = start + found + 1
                break
            keep = start
        if keep < end:
            os.ftruncate(self._file, keep)


def read_records(
    folder: Path, check: Callable[[Record], None] = lambda _: None
) -> Iterator[Record]:
    """Every record of a study in order; a half line at the end is left out.

    `check` raises ValueError, or an error of msgspec, for a record that cannot be.

    UserError for a file that cannot be read or is of another schema, and for a line that is no
    record, fails the check or is not as it was written (its number is named).
    """
    file = folder / NAME
    decode = msgspec.json.Decoder(Record).decode
    seal = Seal()
    try:
        lines = file.open("rb")
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): choose a study folder") from (
            None
        )
    with lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            if number == 1:
                _check_schema(file, line)
            try:
                record = decode(line)
                check(record)
                seal.check(line, record)
                seal.take(line)
            except (msgspec.MsgspecError, ValueError) as error:
                raise UserError(
                    f"{file} line {number} cannot be believed ({error}): take the study's folder "
                    "from a copy made before, or start a new study in another folder"
                ) from None
            if isinstance(record, StudyRecord):
                check_files(folder, record)
            yield record


def _check_schema(file: Path, line: bytes) -> None:
    """UserError where the first record is none of this schema."""
    try:
        first = msgspec.json.decode(line)
        schema = first["schema"]
        if first["record"] != StudyRecord.__struct_config__.tag:
            raise KeyError
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
        raise UserError(f"{file} does not start with a study record: choose a study folder") from (
            None
        )
    if schema != SCHEMA:
        raise UserError(
            f"{file} has schema {schema}, this nearpeak reads schema {SCHEMA}: "
            "use the nearpeak that wrote it, or start anew in another folder"
        )
