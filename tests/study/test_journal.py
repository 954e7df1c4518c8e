# SPDX-License-Identifier: Apache-2.0
"""The journal of a study: whole lines, one writer, and what it says of a bad file."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.journal import CannotWriteError
from nearpeak.study.journal import NAME, StudyJournal, read_records
from nearpeak.study.records import SCHEMA, StudyEndRecord, StudyRecord
from nearpeak.study.seal import FILES, file_digests

END = StudyEndRecord(status="complete", message="all was run")


def first(folder: Path) -> StudyRecord:
    """The first record of a study whose other files it makes."""
    for name in FILES:
        (folder / name).write_text(name)
    return StudyRecord(
        schema=SCHEMA, id="a", nearpeak="0", started="now", seed=1, files=file_digests(folder)
    )


def write(folder: Path) -> None:
    journal = StudyJournal(folder)
    journal.append(first(folder))
    journal.append(END, sync=True)
    journal.close()


def test_two_studies_cannot_write_into_one_folder(tmp_path: Path) -> None:
    journal = StudyJournal(tmp_path)
    with pytest.raises(UserError, match="another nearpeak is writing into"):
        StudyJournal(tmp_path)
    journal.close()
    StudyJournal(tmp_path).close()


def test_a_line_that_does_not_fit_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = StudyJournal(tmp_path)
    journal.append(first(tmp_path))
    real, room = os.write, [7, 7, 0]

    def write_some(file: int, data: Any) -> int:
        if not (left := room.pop(0)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, bytes(data)[:left])

    monkeypatch.setattr(os, "write", write_some)
    with pytest.raises(CannotWriteError, match="no space is left"):
        journal.append(END)
    journal.close()
    assert list(read_records(tmp_path)) == [first(tmp_path)]


def test_a_bad_line_is_named_and_no_part_of_the_truth_is_to_be_destroyed(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / NAME
    nested = b'{"record":"study end","z":' + 100_000 * b"[" + b"\n"
    wrong = b'{"record":"study end","status":"\xff"}\n'
    for bad in (b'{"record":"fly"}\n', wrong, b"{}\n", nested):
        first = file.read_bytes().splitlines(keepends=True)[0]
        file.write_bytes(first + bad)
        with pytest.raises(UserError) as error:
            list(read_records(tmp_path))
        assert str(error.value).startswith(f"{file} line 2 cannot be believed (")
        assert str(error.value).endswith(
            "): take the study's folder from a copy made before, or measure again what it lacks"
            f" with `nearpeak study --resume -o {tmp_path}`"
        )


@pytest.mark.parametrize("line", [b'"\xff"', b'{"z":' + 100_000 * b"["])
def test_a_first_line_that_cannot_be_decoded_is_no_study(tmp_path: Path, line: bytes) -> None:
    (tmp_path / NAME).write_bytes(line + b"\n")
    with pytest.raises(UserError, match="does not start with a study record"):
        list(read_records(tmp_path))


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        list(read_records(tmp_path))
