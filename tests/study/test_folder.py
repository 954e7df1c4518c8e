# SPDX-License-Identifier: Apache-2.0
"""Study folders: made, refused, and opened again."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.journal import CannotWriteError
from nearpeak.machine.discover import discover
from nearpeak.study import folder as study_folder
from nearpeak.study.amendments import extend
from nearpeak.study.folder import create, read_plan, reopen
from nearpeak.study.history import History
from nearpeak.study.journal import NAME, StudyJournal
from nearpeak.study.planning import Suits, added
from two_users import TwoUsers


def test_a_folder_is_made_and_opened_again(standins: ModuleType, tmp_path: Path) -> None:
    plan = standins.small_plan()
    folder = tmp_path / "new" / "study"
    create(folder, discover(), plan).close()
    assert {file.name for file in folder.iterdir()} == {
        "machine.json",
        "plan.json",
        "records.jsonl",
    }
    found, journal = reopen(folder)
    journal.close()
    assert found == plan


def test_a_folder_that_others_may_write_is_not_opened_again(
    standins: ModuleType, two_users: TwoUsers
) -> None:
    folder = two_users.place / "study"
    create(folder, discover(), standins.small_plan()).close()
    folder.chmod(0o777)
    with pytest.raises(UserError, match=r"all users may write .*run `chmod o-w"):
        reopen(folder)
    folder.chmod(0o755)
    _, journal = reopen(folder)
    journal.close()


def test_what_another_added_before_the_lock_was_had_is_in_the_plan(
    study: Any, standins: ModuleType, before_the_lock: Callable[[Callable[[], object]], None]
) -> None:
    plan, file = standins.small_plan(launches=1), study.folder / NAME
    create(study.folder, discover(), plan).close()
    study.run(plan)
    adds = added(plan, [standins.contender("new")], [], Suits(), 1)
    before = file.read_bytes()
    other = StudyJournal(study.folder)
    other.append(extend(History(study.folder, plan).state, "so", adds, None, None))
    other.close()
    after = file.read_bytes()
    file.write_bytes(before)
    before_the_lock(lambda: file.write_bytes(after))
    found, journal = reopen(study.folder)
    journal.close()
    assert found == plan.grown(adds)


def test_a_study_that_another_began_before_the_lock_was_had_is_not_written_over(
    study: Any, standins: ModuleType, before_the_lock: Callable[[Callable[[], object]], None]
) -> None:
    file = study.folder / NAME
    before_the_lock(lambda: file.write_bytes(b"theirs\n"))
    with pytest.raises(UserError, match="is not empty"):
        create(study.folder, discover(), standins.small_plan())
    assert [each.name for each in study.folder.iterdir()] == [NAME]
    assert file.read_bytes() == b"theirs\n"


def test_a_folder_that_is_not_empty_is_bad_input(standins: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(UserError, match="is not empty"):
        create(tmp_path, discover(), standins.small_plan())
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(UserError, match="is not a folder"):
        create(tmp_path / "mine", discover(), standins.small_plan())


@pytest.mark.parametrize("schema", [1, 2, 99])
def test_another_schema_is_bad_input(study: Any, standins: ModuleType, schema: int) -> None:
    create(study.folder, discover(), standins.small_plan()).close()
    records = study.folder / "records.jsonl"
    records.write_text(f'{{"record":"study","schema":{schema}}}\n')
    with pytest.raises(UserError, match=f"has schema {schema}, this nearpeak reads schema 4 and 5"):
        reopen(study.folder)
    file = study.folder / "plan.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": schema}))
    with pytest.raises(UserError, match=f"has schema {schema}, this nearpeak reads schema 4"):
        reopen(study.folder)


def test_a_folder_without_a_study_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no study in"):
        read_plan(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("name", ["machine.json", "plan.json"])
def test_a_study_that_could_not_be_begun_is_started_again(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, name: str
) -> None:
    """--resume would find nothing."""

    def full(target: Path, data: bytes) -> None:
        if target.name == name:
            raise OSError(number, os.strerror(number))
        target.write_bytes(data)

    with monkeypatch.context() as disk:
        disk.setattr(study_folder, "put_whole", full)
        with pytest.raises(CannotWriteError, match=r", then start again$"):
            create(tmp_path / "s", discover(), standins.small_plan())
    create(tmp_path / "s", discover(), standins.small_plan()).close()
