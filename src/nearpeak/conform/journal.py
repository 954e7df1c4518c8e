# SPDX-License-Identifier: Apache-2.0
"""conform.jsonl, the truth of a run: appended as it happens, read by --resume."""

import os
from pathlib import Path

import msgspec

from nearpeak.conform.model import Memory, Operation
from nearpeak.conform.plan import Chosen
from nearpeak.errors import UserError
from nearpeak.files import make_folder
from nearpeak.study.trials import BadEnd, Outcome

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


class Journal:
    """The open file; every record is a whole line."""

    def __init__(self, folder: Path, begin: Begin | None = None) -> None:
        """A new one, or one to go on with. UserError for a folder that is not so."""
        file = folder / NAME
        self.folder = folder
        if begin is not None:
            check_new(folder)
        self.records = [] if begin else read(folder)
        try:
            make_folder(folder)
            if begin is None:
                _cut_half_line(file)
            self._opened = file.open("ab")
        except OSError as error:
            raise UserError(
                f"cannot write into {folder} ({error.strerror}): name another folder with -o"
            ) from None
        if begin is not None:
            self.append(begin)

    @property
    def begin(self) -> Begin:
        """The first record."""
        first = self.records[0]
        assert isinstance(first, Begin)
        return first

    def append(self, record: Record) -> None:
        """Adds a line, which is in the file when this returns."""
        self.records.append(record)
        self._opened.write(msgspec.json.encode(record) + b"\n")
        self._opened.flush()

    def close(self) -> None:
        """Ends it."""
        self._opened.close()


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
        lines = file.read_bytes().split(b"\n")[:-1]
        records = [decode(line) for line in lines]
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


def _cut_half_line(file: Path) -> None:
    text = file.read_bytes()
    os.truncate(file, text.rfind(b"\n") + 1)
