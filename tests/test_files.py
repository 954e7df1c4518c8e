# SPDX-License-Identifier: Apache-2.0
"""Files appear whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.files import put_whole, write_whole


def test_it_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    write_whole(target, "new ü\u2028")
    assert target.read_text(encoding="utf-8") == "new ü\u2028"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_none_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write .*report\.html"):
        write_whole(tmp_path / "file" / "report.html", "text")
    with pytest.raises(UserError, match="cannot write"):
        write_whole(tmp_path / "missing" / "report.html", "text")


def test_what_was_there_survives_a_failure(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(target, "\ud800")  # a lone surrogate has no UTF-8
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_what_was_written_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file before its renaming, and the folder after it."""
    done: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(file: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        real_sync(file)

    def replace(one: Path, other: Path) -> Path:
        done.append("renamed")
        return real_replace(one, other)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    put_whole(tmp_path / "plan.json", b"{}")
    assert done == ["file", "renamed", "folder"]
