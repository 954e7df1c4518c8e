# SPDX-License-Identifier: Apache-2.0
"""Everything of a study is on the disk before it is counted on."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.machine.discover import discover
from nearpeak.study.folder import create


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What was synced, in order."""
    done: list[Path] = []
    real = os.fsync

    def sync(file: int) -> None:
        done.append(Path(f"/proc/self/fd/{file}").readlink())
        real(file)

    monkeypatch.setattr(os, "fsync", sync)
    return done


def test_a_new_folder_with_its_files(
    standins: ModuleType, tmp_path: Path, synced: list[Path]
) -> None:
    folder = tmp_path / "new" / "study"
    create(folder, discover(), standins.small_plan()).close()
    places = [file.parent if file.is_file() else file for file in synced]
    assert {tmp_path, folder.parent, folder} <= set(places)
    names = [file.name.split(".")[1] for file in synced if file.name.startswith(".")]
    assert names == ["machine", "plan"]  # each before its renaming
    assert synced[-1] == folder


def test_a_launch_with_its_log_before_its_end_is_recorded(
    study: Any, standins: ModuleType, synced: list[Path]
) -> None:
    study.run(standins.small_plan(launches=2))
    logs, journal = study.folder / "logs", study.folder / "records.jsonl"
    assert synced[:3] == [study.folder, study.folder, journal]  # journal, logs, session
    ends = study.ends()
    each = [file for end in ends for file in (study.folder / end.log, logs, journal)]
    assert synced[3:] == [*each, journal]


def test_records_that_were_not_understood_too(
    study: Any, standins: ModuleType, synced: list[Path]
) -> None:
    study.run(standins.small_plan(standins.contender("bad", "twice"), launches=2))
    kept = list((study.folder / "logs").glob("*.jsonl"))
    assert kept
    assert set(kept) <= set(synced)
