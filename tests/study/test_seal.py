# SPDX-License-Identifier: Apache-2.0
"""What was changed after it had been recorded is noticed, wherever it stands."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.study.journal import NAME, StudyJournal, read_records
from nearpeak.study.records import SCHEMA, LaunchEndRecord, StudyEndRecord, StudyRecord
from nearpeak.study.seal import FILES, file_digests


def end(launch: int) -> LaunchEndRecord:
    return LaunchEndRecord(
        launch=launch, status="ok", exit_status=0, seconds=1.0, message="", log=None
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_text(f"{name} 1")
    journal = StudyJournal(tmp_path)
    first = StudyRecord(
        schema=SCHEMA, id="a", nearpeak="0", started="now", seed=1, files=file_digests(tmp_path)
    )
    for record in (first, end(0), end(1)):
        journal.append(record)
    journal.close()
    journal = StudyJournal(tmp_path)  # as a resumed study does
    journal.append(end(2))
    journal.append(StudyEndRecord(status="complete", message='"digest":""'))
    journal.close()
    return tmp_path


def test_what_was_written_is_believed(folder: Path) -> None:
    assert len(list(read_records(folder))) == 5


@pytest.mark.parametrize(
    ("line", "old", "new", "told"),
    [
        (0, b'"seed":1', b'"seed":2', 2),
        (1, b'"seconds":1.0', b'"seconds":2.0', 2),
        (2, b'"launch":1', b'"launch":9', 3),
        (4, b'"complete"', b'"interrupted"', 5),
        (3, b'"digest":"', b'"digest":"0', 4),
    ],
)
def test_a_changed_line_is_noticed(
    folder: Path, line: int, old: bytes, new: bytes, told: int
) -> None:
    file = folder / NAME
    lines = file.read_bytes().splitlines(keepends=True)
    assert old in lines[line]
    lines[line] = lines[line].replace(old, new)
    file.write_bytes(b"".join(lines))
    with pytest.raises(UserError, match=f"line {told} cannot be believed .*was changed after"):
        list(read_records(folder))


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_a_line_that_is_gone_is_noticed(folder: Path, gone: int) -> None:
    file = folder / NAME
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:gone] + lines[gone + 1 :]))
    with pytest.raises(UserError, match="was changed after"):
        list(read_records(folder))


@pytest.mark.parametrize("name", FILES)
def test_a_changed_plan_is_noticed(folder: Path, name: str) -> None:
    (folder / name).write_text("another")
    with pytest.raises(UserError, match=f"{name} is damaged: it is not as it was"):
        list(read_records(folder))


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_another_schema_is_no_way_around_the_digests(folder: Path, schema: int) -> None:
    file = folder / NAME
    changed = file.read_bytes().replace(b'"seconds":1.0', b'"seconds":2.0')
    file.write_bytes(changed.replace(f'"schema":{SCHEMA}'.encode(), f'"schema":{schema}'.encode()))
    with pytest.raises(UserError, match=f"has schema {schema}, this nearpeak reads schema 5"):
        list(read_records(folder))
