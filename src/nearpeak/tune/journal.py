# SPDX-License-Identifier: Apache-2.0
"""tune.jsonl, the truth of a search: appended as it happens, played back by --resume."""

import shlex
from pathlib import Path

import msgspec

from nearpeak import journal
from nearpeak.errors import UserError
from nearpeak.files import make_output

NAME = "tune.jsonl"
SCHEMA = 1


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """What a search is for, as it was given."""

    mpi: str
    targets: str
    path: str | None
    buffers: str
    budget_seconds: float
    seed: int


class Begin(msgspec.Struct, kw_only=True, tag_field="record", tag="tune"):
    """The first line."""

    schema: int
    nearpeak: str
    started: str
    asked: Asked
    library: str
    family: str
    version: str
    path: str
    path_summary: str
    host: str
    cpu: str
    gpus: list[str]
    driver: str | None
    candidates: list[dict[str, str]]


class Trial(msgspec.Struct, kw_only=True, tag_field="record", tag="trial"):
    """One launch with all targets."""

    why: str
    env: dict[str, str]
    values: list[float]  # of each target, in `units`; none where it failed
    units: list[str] = []
    better: list[str] = []
    failed: str = ""
    distance_ns: float | None = None  # between the ranks' CPUs
    seconds: float


class Hinted(msgspec.Struct, kw_only=True, tag_field="record", tag="hints"):
    """What rules named for what an explanation showed: tried first."""

    named: list[tuple[str, str]]  # variables and values
    seconds: float


class Checked(msgspec.Struct, kw_only=True, tag_field="record", tag="check"):
    """What works with these variables."""

    env: dict[str, str]
    ends: dict[str, str]  # by operation, buffers and path: empty, or how it ended
    seconds: float


Record = Begin | Hinted | Trial | Checked


def resume_command(folder: Path) -> str:
    """The line for a POSIX shell that goes on with the search in a folder."""
    return shlex.join(["nearpeak", "tune", "--resume", "-o", str(folder)])


class TuneJournal:
    """The open tune.jsonl of one search, with all its records."""

    def __init__(self, folder: Path, begin: Begin | None = None) -> None:
        """A new one, or one to go on with.

        UserError for a folder that is not so, or when another search has it; CannotWriteError.
        """
        self.folder = folder
        if begin is None:
            self.records = read(folder)
        else:
            check_new(folder)
            make_output(folder)
            self.records = []
        self._lines = journal.Journal(folder / NAME, resume_command(folder))
        if begin is not None:
            self.append(begin)

    @property
    def begin(self) -> Begin:
        """The first record."""
        first = self.records[0]
        assert isinstance(first, Begin)
        return first

    def append(self, record: Record) -> None:
        """Adds a line, which is on the disk when this returns. CannotWriteError."""
        self._lines.append(msgspec.json.encode(record) + b"\n", sync=True)
        self.records.append(record)

    def close(self) -> None:
        """Gives the file and its lock back."""
        self._lines.close()


def check_new(folder: Path) -> None:
    """UserError for a folder that has a search already."""
    if (folder / NAME).exists():
        raise UserError(
            f"{folder} has a {NAME} already: complete it with --resume, or name another folder "
            "with -o"
        )


def opened(folder: Path) -> Begin:
    """The first record of a folder; UserError as `read`."""
    first = read(folder)[0]
    assert isinstance(first, Begin)
    return first


def read(folder: Path) -> list[Record]:
    """All records of a folder, a half line at the end left out; UserError for another file."""
    file = folder / NAME
    decode = msgspec.json.Decoder(Record).decode
    try:
        records = [decode(line) for line in journal.whole_lines(file)]
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}): name the folder of `nearpeak tune` with -o"
        ) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise UserError(
            f"{file} cannot be believed ({error}): start anew in another folder"
        ) from None
    if not records or not isinstance(records[0], Begin) or records[0].schema != SCHEMA:
        raise UserError(f"{file} does not begin as schema {SCHEMA} does: start anew elsewhere")
    return records
