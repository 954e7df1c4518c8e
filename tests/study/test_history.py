# SPDX-License-Identifier: Apache-2.0
"""What was recorded of a study, read once."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.study.history import History


def test_of_a_study_that_was_run_nothing_remains(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    study.run(plan)
    found = History(study.folder, plan)
    assert not found.empty
    assert found.session is not None
    assert found.session.session == 1
    assert found.state.remaining(0) == []
    assert found.over


def test_a_study_is_over_until_something_is_added(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    lines = (study.folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    (study.folder / "records.jsonl").write_bytes(b"".join(lines[:-1]))  # without its end
    assert not History(study.folder, plan).over
    study.run(plan)
    assert History(study.folder, plan).over


def test_a_new_study_has_none(study: Any, standins: ModuleType) -> None:
    (study.folder / "records.jsonl").touch()
    found = History(study.folder, standins.small_plan())
    assert found.empty
    assert found.session is None


def test_a_folder_without_records_is_bad_input(standins: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="choose a study folder"):
        History(tmp_path, standins.small_plan())
