# SPDX-License-Identifier: Apache-2.0
"""A file of records: whole lines appended as they happen, so that nothing recorded is ever lost."""

import contextlib
import hashlib
import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.files import FULL, make_output
from nearpeak.files import sync as sync_folder
from nearpeak.locks import HeldError, Lock
from nearpeak.numbers import printable
from nearpeak.signals import held
from nearpeak.terms.private import FreeText


class CannotWriteError(Exception):
    """A folder took no more data; the message is one line that says what to do."""

    def __init__(self, reason: str, resume: str = "") -> None:
        """`resume`: the shell line that completes the run; empty if nothing was begun, so that it
        can be started again."""
        self.reason = reason
        super().__init__(
            f"{reason}, then " + (f"`{resume}` completes it" if resume else "start again")
        )


def cannot_write(folder: Path, error: OSError | None, resume: str) -> CannotWriteError:
    """The error for a write that failed, by `error` or (None) as the disk is nearly full.

    `resume`: as for CannotWriteError.
    """
    if error is None or error.errno in FULL:
        reason = f"no space is left for {folder}: free some"
    else:
        reason = f"{folder} cannot be written ({error.strerror}): make it writable"
    return CannotWriteError(reason, resume)


class Journal:
    """An open file of lines, locked against a second writer.

    A last line without its end, which a killed writer may have left, is cut off when it is opened.
    A line that does not fit is taken back before CannotWriteError is raised.
    """

    def __init__(self, file: Path, resume: str) -> None:
        """Opens or creates the file; UserError when it cannot be, or when somebody else has it.

        `resume`: the shell line that completes the run.
        """
        self._folder, self._name = file.parent, file.name
        self._resume = resume
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.open(file, flags, 0o644)
            sync_folder(self._folder)  # its name is on the disk
        except OSError as error:
            raise UserError(
                f"cannot write into {self._folder} ({error.strerror}): "
                "choose another folder with -o"
            ) from None
        try:
            self._lock = Lock(self._file, file)
        except HeldError as error:
            os.close(self._file)
            held = f"{self._folder} ({error})" if str(error) else str(self._folder)
            raise UserError(
                f"another nearpeak is writing into {held}: wait for it, or choose another with -o"
            ) from None
        except OSError as error:
            os.close(self._file)
            raise UserError(
                f"{self._folder} cannot be locked ({error.strerror}): choose another folder with -o"
            ) from None
        self._size = self._cut_half_line()

    def append(self, line: bytes, *, sync: bool = False) -> None:
        """Adds a line with its newline; with `sync` it is on the disk when this returns.

        CannotWriteError, also where another process has written: a lock may fail between hosts.
        """
        before = self._size
        self._check_size()
        try:
            left = memoryview(line)
            while left:  # a disk may take a part, and give the reason with the rest
                left = left[os.write(self._file, left) :]
            if sync:
                os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):  # else it is cut off when the file is opened again
                os.ftruncate(self._file, before)
            raise cannot_write(self._folder, error, self._resume) from None
        self._size += len(line)
        self._check_size()

    def _check_size(self) -> None:
        if os.fstat(self._file).st_size != self._size:
            raise CannotWriteError(
                f"another process has written into {self._folder}, which must have one nearpeak"
                " alone: let the other end",
                self._resume,
            )

    def put_aside(self, size_bytes: int) -> Path:
        """Keeps the first `size_bytes` of the file, and moves the rest into a new file in the same
        folder. Returns the new file. CannotWriteError."""
        try:
            aside, target = _new_file(self._folder, f"{self._name}.damaged")
            with os.fdopen(target, "wb") as rest:
                offset = size_bytes
                while part := os.pread(self._file, _PART_BYTES, offset):
                    offset += rest.write(part)
                rest.flush()
                os.fsync(target)
            sync_folder(self._folder)
            os.ftruncate(self._file, size_bytes)
            os.fsync(self._file)
        except OSError as error:
            raise cannot_write(self._folder, error, self._resume) from None
        self._size = size_bytes
        return aside

    def close(self) -> None:
        """Closes the file and releases its lock."""
        self._lock.release()
        os.close(self._file)

    def _cut_half_line(self) -> int:
        """Cuts off what follows the last newline. Returns the size that is left, in bytes."""
        end = os.fstat(self._file).st_size
        keep = end
        while keep > 0:
            start = max(0, keep - 65536)
            newline = os.pread(self._file, keep - start, start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        if keep < end:
            os.ftruncate(self._file, keep)
        return keep


def _new_file(folder: Path, name: str) -> tuple[Path, int]:
    """Makes `name-1`, or with the first free number. Returns it with its descriptor. OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    for number in itertools.count(1):
        file = folder / f"{name}-{number}"
        with contextlib.suppress(FileExistsError):
            return file, os.open(file, flags, 0o644)
    raise AssertionError


def whole_lines(file: Path) -> Iterator[bytes]:
    """Every line with its newline, in order; a half line at the end is left out. OSError."""
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield line


def of_copy(folder: Path, done: str) -> str:
    """The message that a published copy cannot be resumed. `done`: how the original was made."""
    return (
        f"{folder} is a published copy, with other names than where it was {done}: go on with the"
        " original"
    )


def resume_study(folder: Path, *options: str) -> str:
    """The line for a POSIX shell that resumes the study in a folder."""
    return shlex.join(["nearpeak", "study", "--resume", "-o", str(folder), *options])


class Begun(Protocol):
    """A first line: it describes the run of all lines that follow."""

    schema: int


First = TypeVar("First", bound=Begun)
Line = TypeVar("Line")


class Interrupted(msgspec.Struct, kw_only=True, tag_field="record", tag="interrupted"):
    """A line of any run: it was ended early. The reason does not matter to a resumed run."""

    reason: FreeText


class DamagedRunError(UserError):
    """A damaged line; the `good_bytes` before it are intact."""

    def __init__(self, problem: str, remedy: str, good_bytes: int) -> None:
        super().__init__(f"{problem}: {remedy}")
        self.problem = problem
        self.good_bytes = good_bytes


_PART_BYTES = 1 << 24  # moved at a time
_SEAL = re.compile(rb',"seal":"([0-9a-f]{64})"\}\n')


class _Chain:
    """The seals of a file: each line holds the SHA-256 of the seal before it and of its own text
    without its seal."""

    def __init__(self) -> None:
        self._last = b""

    def line(self, text: bytes) -> bytes:
        """The next line, of an object of JSON, with its seal and its newline."""
        return text[:-1] + b',"seal":"' + self._seal(text) + b'"}\n'

    def take(self, line: bytes) -> None:
        """Takes the next line of the file; ValueError where its seal is not right."""
        match = _SEAL.search(line)
        if match is None or match[1] != self._seal(line[: match.start()] + b"}"):
            raise ValueError("it was changed after it had been recorded")
        self._last = match[1]

    def _seal(self, text: bytes) -> bytes:
        return hashlib.sha256(self._last + text).hexdigest().encode()


@dataclass(frozen=True)
class Form(Generic[First, Line]):
    """The file of one run in its folder."""

    name: str
    schema: int
    command: str  # of nearpeak; makes and resumes it
    whose: str  # "a run": whose folder a user is to name
    first: type[First]
    lines: Any  # the union of all structs that a line may be
    sealed: bool = False  # whether its lines hold a digest of all before them

    def chain(self, folder: Path) -> "_Chain | None":
        """The seals of a file so far; None for a file without seals. OSError."""
        if not self.sealed:
            return None
        chain = _Chain()
        for line in whole_lines(folder / self.name):
            chain.take(line)
        return chain

    def encode(self, records: Iterable[Any]) -> bytes:
        """A whole file."""
        chain = _Chain()
        lines = []
        for record in records:
            text = msgspec.json.encode(record)
            lines.append(chain.line(text) if self.sealed else text + b"\n")
            if self.sealed:
                chain.take(lines[-1])
        return b"".join(lines)

    def resume_command(self, folder: Path) -> str:
        """The line for a POSIX shell that resumes the run in a folder."""
        return shlex.join(["nearpeak", self.command, "--resume", "-o", str(folder)])

    def check_new(self, folder: Path) -> None:
        """Raises UserError for a folder that already has a run. A file without a whole line, as a
        full disk leaves it, is no run."""
        with contextlib.suppress(OSError):  # an unreadable file cannot be written either
            if next(whole_lines(folder / self.name), None) is not None:
                raise self._there_already(folder)

    def open(self, folder: Path, *, new: bool) -> Journal:
        """Opens the file of a new run, or an existing one. Read it after opening: another process
        may have written until now, but cannot until it is closed.

        UserError for a new run in a folder that has one, or when another process has the file.
        """
        if new:
            self.check_new(folder)
        make_output(folder)
        lines = Journal(folder / self.name, self.resume_command(folder))
        if new and (folder / self.name).stat().st_size:
            lines.close()
            raise self._there_already(folder)
        return lines

    def _there_already(self, folder: Path) -> UserError:
        return UserError(
            f"{folder} has a {self.name} already: complete it with --resume, or name another "
            "folder with -o"
        )

    def read(self, folder: Path) -> list[Line]:
        """All records of a folder but Interrupted, a half line at the end left out; UserError for
        another file."""
        file = folder / self.name
        try:
            decoded = self._decoded(file)
            records: list[Line] = [line for line in decoded if not isinstance(line, Interrupted)]
        except OSError as error:
            raise UserError(
                f"{file} cannot be read ({error.strerror}): name the folder of {self.whose} with -o"
            ) from None
        if not records:
            raise self.empty(folder)
        first = records[0]
        if not isinstance(first, self.first) or first.schema != self.schema:
            raise UserError(
                f"{file} does not begin as schema {self.schema} does: start anew elsewhere"
            )
        return records

    def _decoded(self, file: Path) -> Iterator[Any]:
        """Every record; DamagedRunError, OSError."""
        decode = msgspec.json.Decoder(self.lines | Interrupted).decode
        chain = _Chain() if self.sealed else None
        good = 0
        for number, line in enumerate(whole_lines(file), start=1):
            try:
                if chain:
                    chain.take(line)
                yield decode(line)
            except UNDECODABLE as error:
                problem = f"{file} cannot be believed (line {number}: {error})"
                remedy = "start anew in another folder"
                if chain and good:
                    remedy = f"`{self.resume_command(file.parent)}` goes back to what can be"
                raise DamagedRunError(problem, remedy, good if chain else 0) from None
            good += len(line)

    def repair(self, folder: Path) -> None:
        """Cuts a sealed run that is to be resumed before its first damaged line. The rest is kept
        in a separate file, and a line on stderr says so. UserError if no line before it is intact,
        or another process has the run; CannotWriteError."""
        try:
            self.read(folder)
        except DamagedRunError as error:
            if not error.good_bytes:
                raise
        else:
            return
        lines = Journal(folder / self.name, self.resume_command(folder))
        try:
            self.read(folder)  # another process may have cut it meanwhile
        except DamagedRunError as error:
            aside = lines.put_aside(error.good_bytes)
            damage = f"{printable(error.problem)}: the run goes back to what stands before it"
            print(f"nearpeak: {damage}; the rest is kept in {aside}", file=sys.stderr, flush=True)
        finally:
            lines.close()

    def empty(self, folder: Path) -> UserError:
        """The error for a run whose first line did not fit on the disk."""
        return UserError(f"{folder / self.name} has no line: begin anew, without --resume")

    def begin(self, records: list[Line]) -> First:
        """The first of the records that were read."""
        first = records[0]
        assert isinstance(first, self.first)
        return first


def begin_with(append: Callable[[First], None], begin: First) -> None:
    """Adds the first line of a new file: without it a run cannot be resumed. CannotWriteError."""
    try:
        append(begin)
    except CannotWriteError as error:
        raise CannotWriteError(error.reason) from None


class RunJournal(Generic[First, Line]):
    """The open file of one run, with all its records."""

    def __init__(self, form: Form[First, Line], folder: Path, begin: First | None = None) -> None:
        """Makes the file of a new run, or opens an existing one (`begin` None).

        UserError for a folder that does not fit, or when another process has the run;
        CannotWriteError.
        """
        self.folder = folder
        self._form = form
        self.records: list[Line] = []
        if begin is None:
            form.repair(folder)  # a folder without a run stays untouched
        self._lines = form.open(folder, new=begin is not None)
        try:
            self._chain = form.chain(folder) if begin is None else _Chain() if form.sealed else None
            if begin is None:
                self.records = form.read(folder)
            else:
                begin_with(self.append, begin)
        except BaseException:
            self._lines.close()
            raise

    @property
    def begin(self) -> First:
        """The first record."""
        return self._form.begin(self.records)

    def append(self, record: First | Line) -> None:
        """Adds a line, which is on the disk when this returns. CannotWriteError.

        Every line is synced: a launch may take the machine down.
        """
        with held():  # else what is in the file is not what is here
            self._append(record)
            self.records.append(record)  # type: ignore[arg-type]  # a first line is a line

    def interrupt(self, reason: str) -> None:
        """Adds the line with the reason why the run ended early. CannotWriteError."""
        self._append(Interrupted(reason=reason))

    def _append(self, record: Any) -> None:
        text = msgspec.json.encode(record)
        line = self._chain.line(text) if self._chain else text + b"\n"
        self._lines.append(line, sync=True)
        if self._chain:
            self._chain.take(line)

    def close(self) -> None:
        """Closes the file and releases its lock."""
        self._lines.close()
