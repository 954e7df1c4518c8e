# SPDX-License-Identifier: Apache-2.0
"""conform.jsonl, the truth of a run: appended as it happens, read by --resume."""

import shlex
from pathlib import Path

import msgspec

from nearpeak import journal
from nearpeak.conform.conformance import Memory, Operation
from nearpeak.conform.plan import Chosen
from nearpeak.errors import UserError
from nearpeak.files import make_output
from nearpeak.terms.trials import BadEnd, Outcome

NAME = "conform.jsonl"
SCHEMA = 1


class Begin(msgspec.Struct, kw_only=True, tag_field="record", tag="conform"):
    """The first line."""

    schema: int
    nearpeak: str
    started: str
    chosen: Chosen
    host: str
    gpus: list[str]
    driver: str | None
    memories: list[Memory]
    operations: list[Operation]


class Contended(msgspec.Struct, kw_only=True, tag_field="record", tag="library"):
    """A library that is tried."""

    library: str
    settings: str
    version: str
    planned: int


class Ended(msgspec.Struct, kw_only=True, tag_field="record", tag="outcome"):
    """A case of a library has ended."""

    library: str
    settings: str
    outcome: Outcome


class BadlyEnded(msgspec.Struct, kw_only=True, tag_field="record", tag="bad end"):
    """A job of a library has ended badly while it was at no case."""

    library: str
    settings: str
    end: BadEnd


Record = Begin | Contended | Ended | BadlyEnded


def resume_command(folder: Path) -> str:
    """The line for a POSIX shell that goes on with the run in a folder."""
    return shlex.join(["nearpeak", "conform", "--resume", "-o", str(folder)])


class ConformJournal:
    """The open conform.jsonl of one run, with all its records."""

    def __init__(self, folder: Path, begin: Begin | None = None) -> None:
        """A new one, or one to go on with.

        UserError for a folder that is not so, or when another run has it; CannotWriteError.
        """
        self.folder = folder
        if begin is None:
            read(folder)  # where there is none, none is made
        else:
            check_new(folder)
            make_output(folder)
        self._lines = journal.Journal(folder / NAME, resume_command(folder))
        self.records = read(folder) if begin is None else []
        if begin is not None:
            self.append(begin)

    @property
    def begin(self) -> Begin:
        """The first record."""
        first = self.records[0]
        assert isinstance(first, Begin)
        return first

    def append(self, record: Record) -> None:
        """Adds a line, which is on the disk when this returns. CannotWriteError.

        Each is: what is tried may take the machine down.
        """
        self._lines.append(msgspec.json.encode(record) + b"\n", sync=True)
        self.records.append(record)

    def close(self) -> None:
        """Gives the file and its lock back."""
        self._lines.close()


def check_new(folder: Path) -> None:
    """UserError for a folder that has a run already."""
    if (folder / NAME).exists():
        raise UserError(
            f"{folder} has a {NAME} already: complete it with --resume, or name another folder "
            "with -o"
        )


def read(folder: Path) -> list[Record]:
    """All records of a folder, a half line at the end left out; UserError for another file."""
    file = folder / NAME
    decode = msgspec.json.Decoder(Record).decode
    try:
        records = [decode(line) for line in journal.whole_lines(file)]
        whole = bool(records) and isinstance(records[0], Begin) and records[0].schema == SCHEMA
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}): name the folder of a run with -o"
        ) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise UserError(f"{file} cannot be believed ({error}): start anew in another folder") from (
            None
        )
    if not whole:
        raise UserError(f"{file} does not begin as schema {SCHEMA} does: start anew elsewhere")
    return records
