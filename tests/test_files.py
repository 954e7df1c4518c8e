# SPDX-License-Identifier: Apache-2.0
"""Files appear whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.files import (
    check_output,
    check_target,
    make_folder,
    make_inside,
    put_whole,
    says_full,
    write_whole,
)


def test_it_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    write_whole(target, "new ü\u2028")
    assert target.read_text(encoding="utf-8") == "new ü\u2028"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_what_programs_say_of_a_full_disk(number: int) -> None:
    assert says_full(f"c++: fatal error: cannot write a.o: {os.strerror(number)}")
    assert not says_full("c++: fatal error: no input files")


def test_a_folder_that_is_none_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write .*report\.html"):
        write_whole(tmp_path / "file" / "report.html", "text")
    with pytest.raises(UserError, match="cannot write"):
        write_whole(tmp_path / "missing" / "report.html", "text")


def test_a_target_is_checked_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    os.mkfifo(tmp_path / "fifo")
    for name in ("file", "new", "fifo"):
        check_target(tmp_path / name)
    check_target(Path("/dev/null"))
    assert (tmp_path / "file").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "file"]
    for wrong, why in (("file/x", "Not a directory"), ("no/x", "No such file"), ("", "directory")):
        with pytest.raises(UserError, match=rf"cannot write {tmp_path / wrong}: .*{why}"):
            check_target(tmp_path / wrong)


def test_a_folder_that_cannot_be_made_is_known_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("", "a/b"):
        check_output(tmp_path / name)
    for wrong, why in ((tmp_path / "file/x", "Not a directory"), (Path("/proc/x/y"), "No such")):
        with pytest.raises(UserError, match=rf"cannot make the folder {wrong} \({why}"):
            check_output(wrong)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "report.html"
    link = tmp_path / "report.html"
    link.symlink_to(real)
    for text in ("made", "made anew"):
        write_whole(link, text)
        assert link.is_symlink()
        assert real.read_text() == text
    assert [path.name for path in real.parent.iterdir()] == ["report.html"]


def test_a_folder_of_a_run_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "logs").symlink_to("elsewhere")
    make_folder(tmp_path / "logs")  # as a user may name the folder of a run
    with pytest.raises(NotADirectoryError, match="logs is a link"):
        make_inside(tmp_path / "logs")
    make_inside(tmp_path / "new")
    make_inside(tmp_path / "new")


def test_what_is_no_file_is_written_into(tmp_path: Path) -> None:
    """A renaming would replace the device, which root may."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(fifo, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    write_whole(null, "text")
    assert Path("/dev/null").is_char_device()
    assert {path.name for path in tmp_path.iterdir()} == {"fifo", "null"}


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_the_standard_output_is_written_into(tmp_path: Path, name: str) -> None:
    """Also where it goes to a file, which may have more in it."""
    program = f"from nearpeak.files import *; write_whole(Path({name!r}), 'text')"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("text", "")
    log = tmp_path / "log"
    log.write_text("before ")
    with log.open("a") as file:
        subprocess.run(command, stdout=file, check=True)
        file.write(" after")
    assert log.read_text() == "before text after"


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
    real_sync, real_replace = os.fsync, os.replace

    def sync(file: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        real_sync(file)

    def replace(file: str, other: str, **folders: int) -> None:
        done.append("renamed")
        real_replace(file, other, **folders)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    put_whole(tmp_path / "plan.json", b"{}")
    assert done == ["file", "renamed", "folder"]


def test_folders_that_were_made_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink())
    )
    make_folder(tmp_path / "a" / "b")
    assert set(synced) == {tmp_path, tmp_path / "a"}
    synced.clear()
    make_folder(tmp_path / "a" / "b")
    assert synced == []
