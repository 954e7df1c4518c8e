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
from nearpeak.planning.make import added
from nearpeak.planning.templates import Eligibility
from nearpeak.study import folder as study_folder
from nearpeak.study.amendments import extend
from nearpeak.study.folder import create, read_plan, reopen
from nearpeak.study.history import History
from nearpeak.study.journal import NAME, StudyJournal
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
    adds = added(plan, [standins.contender("new")], [], Eligibility(), 1)
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
    with pytest.raises(UserError, match=f"has schema {schema}, this nearpeak reads schema 5"):
        reopen(study.folder)
    records.write_text("")
    file = study.folder / "plan.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": schema}))
    with pytest.raises(UserError, match=f"has schema {schema}, this nearpeak reads schema 4"):
        reopen(study.folder)


@pytest.mark.parametrize("text", [b"{", b'"\xff"', b'{"z":' + 100_000 * b"["])
def test_a_plan_that_cannot_be_decoded_is_bad_input(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(text)
    with pytest.raises(UserError, match=r"plan\.json is not a plan"):
        read_plan(tmp_path)


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


@pytest.mark.parametrize(
    "left",
    [
        {NAME: ""},
        {NAME: "half a li"},
        {NAME: "", "machine.json": "{}"},
        {NAME: "", ".machine.json.123": "{"},
        {NAME: "", "machine.json": "{}", ".plan.json.123": "{", f"{NAME}.held": "gone"},
    ],
)
def test_a_folder_that_was_killed_before_its_plan_is_begun_in(
    standins: ModuleType, tmp_path: Path, left: dict[str, str]
) -> None:
    for name, text in left.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match="start the study again, without --resume"):
        read_plan(tmp_path)
    create(tmp_path, discover(), standins.small_plan()).close()
    names = {"machine.json", "plan.json", "records.jsonl"}
    assert {file.name for file in tmp_path.iterdir()} - {f"{NAME}.held"} == names
    _, journal = reopen(tmp_path)
    journal.close()


@pytest.mark.parametrize(
    "left", [{NAME: "a line\n"}, {NAME: "", "mine": ""}, {NAME: "", "plan.json": "{}"}]
)
def test_a_folder_with_more_is_not_begun_in(
    standins: ModuleType, tmp_path: Path, left: dict[str, str]
) -> None:
    for name, text in left.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match="is not empty"):
        create(tmp_path, discover(), standins.small_plan())
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == left


def seals(file: Path) -> list[int]:
    """Where the lines end that have a digest, in bytes."""
    ends, size = [], 0
    for line in file.read_bytes().splitlines(keepends=True):
        size += len(line)
        ends += [size] if b'"digest":"' in line else []
    return ends


@pytest.mark.parametrize("damage", ["changed", "garbage", "a second writer"])
def test_a_damaged_study_goes_back_to_its_last_good_seal(
    study: Any,
    standins: ModuleType,
    damage: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan, file = standins.small_plan(launches=4), study.folder / NAME
    create(study.folder, discover(), plan).close()
    study.run(plan)
    whole = file.read_bytes()
    keep = seals(file)[1]
    tail = whole[keep:]
    match damage:
        case "changed":
            tail = tail.replace(b'"launch":', b'"launch": ', 1)
        case "garbage":
            tail = b"\xff\x00 no JSON\n" + tail
        case _:
            session = next(line for line in whole.splitlines(True) if b'"session":0' in line)
            tail = session + tail
    file.write_bytes(whole[:keep] + tail)
    with pytest.raises(UserError, match="cannot be believed"):
        History(study.folder, plan)
    _, journal = reopen(study.folder)
    journal.close()
    assert file.read_bytes() == whole[:keep]
    aside = study.folder / f"{NAME}.damaged-1"
    assert aside.read_bytes() == tail
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"as no later seal is right; what followed is kept in {aside}" in said
    assert History(study.folder, plan).over is False
    _, journal = reopen(study.folder)  # once is enough
    journal.close()
    assert not aside.with_name(f"{NAME}.damaged-2").exists()


def test_a_study_that_is_damaged_before_any_seal_goes_back_to_its_begin(
    study: Any, standins: ModuleType
) -> None:
    plan, file = standins.small_plan(), study.folder / NAME
    create(study.folder, discover(), plan).close()
    study.run(plan)
    first, rest = file.read_bytes().split(b"\n", 1)
    file.write_bytes(first + b"\n{}\n" + rest)
    _, journal = reopen(study.folder)
    journal.close()
    assert file.read_bytes() == b""
    assert History(study.folder, plan).empty
