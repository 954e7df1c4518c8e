# SPDX-License-Identifier: Apache-2.0
"""conform.jsonl: one writer, on the disk, and a full disk keeps what was recorded."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nearpeak.conform.journal import NAME, SCHEMA, Begin, ConformJournal, Contended, read
from nearpeak.conform.plan import Chosen
from nearpeak.errors import UserError
from nearpeak.journal import CannotWriteError

BEGIN = Begin(
    schema=SCHEMA, nearpeak="0", started="now", chosen=Chosen(), host="h", gpus=[], driver=None,
    memories=[], operations=[],
)  # fmt: skip
LIBRARY = Contended(library="lib", settings="default", version="1", planned=1)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A folder with a run that has begun."""
    ConformJournal(tmp_path / "c", BEGIN).close()
    return tmp_path / "c"


@contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """The file may not grow any more, nor any other one of this process: write nothing else."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / NAME).stat().st_size + 10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_two_runs_cannot_write_into_one_folder(begun: Path) -> None:
    journal = ConformJournal(begun)
    with pytest.raises(UserError, match="another nearpeak is writing into"):
        ConformJournal(begun)
    journal.close()
    ConformJournal(begun).close()


def test_every_record_is_on_the_disk(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = ConformJournal(begun)
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink().name)
    )
    journal.append(LIBRARY)
    assert synced == [NAME]
    journal.close()


def test_a_record_that_does_not_fit_is_said_in_a_line_and_the_others_stay(begun: Path) -> None:
    journal = ConformJournal(begun)
    with pytest.raises(CannotWriteError) as error, no_room(begun):
        journal.append(LIBRARY)
    assert str(error.value).endswith(f"then `nearpeak conform --resume -o {begun}` completes it")
    journal.close()
    assert journal.records == [BEGIN]
    assert read(begun) == [BEGIN]


def test_a_half_line_is_cut_off(begun: Path) -> None:
    whole = (begun / NAME).read_bytes()
    (begun / NAME).write_bytes(whole + whole[:20])
    journal = ConformJournal(begun)
    assert journal.records == [BEGIN]
    journal.append(LIBRARY)
    journal.close()
    assert read(begun) == [BEGIN, LIBRARY]


def test_where_there_is_no_run_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"conform\.jsonl cannot be read"):
        ConformJournal(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the folder"):
        ConformJournal(tmp_path / "file" / "c", BEGIN)


def test_its_lines_are_sealed(begun: Path) -> None:
    journal = ConformJournal(begun)
    journal.append(LIBRARY)
    journal.close()
    file = begun / NAME
    file.write_bytes(file.read_bytes().replace(b'"planned":1', b'"planned":2'))
    with pytest.raises(UserError, match="line 2: it was changed after it had been recorded"):
        read(begun)
    ConformJournal(begun).close()
    assert len(read(begun)) == 1
    assert (begun / f"{NAME}.damaged-1").exists()
