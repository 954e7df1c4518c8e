# SPDX-License-Identifier: Apache-2.0
"""Study folders: made, refused, and opened again."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.machine.discover import discover
from nearpeak.study.amendments import extend
from nearpeak.study.folder import create, read_plan, reopen
from nearpeak.study.history import History
from nearpeak.study.journal import NAME, StudyJournal
from nearpeak.study.planning import Suits, added


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
