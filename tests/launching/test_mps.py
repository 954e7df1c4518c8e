# SPDX-License-Identifier: Apache-2.0
"""Our own daemon of MPS: there while it is needed, and always ended. The daemon is a stand-in."""

import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from mpi_launches import LIMIT

from nearpeak.errors import UserError
from nearpeak.launching import mps
from nearpeak.machine.gpus.nvidia import MPS_CONTROL
from two_users import OTHER, OWNER, TwoUsers, acting

# Like the real one: with -f it serves until a second one of it passes on "quit".
DAEMON = """#!/bin/sh
pipes="$CUDA_MPS_PIPE_DIRECTORY"
if [ "$1" = -f ]; then
  %s
  echo $$ > "$pipes/pid"; mkfifo "$pipes/control"
  read word < "$pipes/control"
else
  read word; echo "$word" > "$pipes/control"
fi
"""
# Begins a daemon with a folder in the one that is named, and is killed.
KILLED = """
import os, sys, tempfile
from nearpeak.launching import mps
tempfile.tempdir = sys.argv[1]
mps.LONGEST_BASE = 1000
os.environ.pop("XDG_RUNTIME_DIR", None)
with mps.daemon():
    print(mps.pipe_folder(), flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    def put(first_line: str = ":") -> None:
        program = tmp_path / MPS_CONTROL
        program.write_text(DAEMON % first_line)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(mps.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(mps, "LONGEST_BASE", 1000)
    mps._private_folder.cache_clear()
    yield put
    mps._private_folder.cache_clear()


Install = Callable[..., None]


def test_it_runs_in_a_private_folder_and_is_ended(install: Install, tmp_path: Path) -> None:
    install()
    folder = mps.pipe_folder()
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert re.fullmatch(r"nearpeak-mps-\w{8}/pipes", str(folder.relative_to(tmp_path)))
    with mps.daemon():
        assert mps.environment(mps=True) == {"CUDA_MPS_PIPE_DIRECTORY": str(folder)}
        assert folder.stat().st_mode & 0o777 == 0o700
        pid = int((folder / "pid").read_text())
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)
    assert not folder.exists()
    with mps.daemon():  # the next launch has it again
        assert folder.exists()


def test_launches_without_it_look_where_none_can_be() -> None:
    """Not even root can make a folder there."""
    folder = Path(mps.environment(mps=False)["CUDA_MPS_PIPE_DIRECTORY"])
    with pytest.raises(OSError, match=str(folder)):
        folder.mkdir()


def test_its_folder_goes_with_the_process(install: Install, tmp_path: Path) -> None:
    install()
    script = KILLED.replace("    os.kill(os.getpid(), 9)\n", "")
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    assert str(tmp_path) in done.stdout
    assert list(tmp_path.glob("nearpeak-mps-*")) == []


def test_it_is_ended_when_the_launch_fails(install: Install) -> None:
    install()
    pids = []

    def launch() -> None:
        with mps.daemon():
            pids.append(int((mps.pipe_folder() / "pid").read_text()))
            raise RuntimeError("launch")

    with pytest.raises(RuntimeError, match="launch"):
        launch()
    assert not psutil.pid_exists(pids[0])


def test_one_that_does_not_quit_is_killed(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    monkeypatch.setattr(mps, "QUIT_SECONDS", 0.3)
    with mps.daemon():
        folder = mps.pipe_folder()
        pid = int((folder / "pid").read_text())
        (folder / "control").unlink()  # nobody can tell it to quit any more
    assert not psutil.pid_exists(pid)


def test_it_does_not_outlive_a_process_that_is_killed(install: Install, tmp_path: Path) -> None:
    """Its folder goes before the next one is made."""
    install()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True, check=False
    )
    left = Path(done.stdout.strip())
    pid = int((left / "pid").read_text())
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(LIMIT)
    assert not psutil.pid_exists(pid)
    assert mps.pipe_folder() != left
    assert list(tmp_path.glob("nearpeak-mps-*")) == [mps.pipe_folder().parent]


def test_one_left_behind_is_asked_to_quit_before_its_folder_goes(
    install: Install, tmp_path: Path
) -> None:
    install()
    folder = tmp_path / "nearpeak-mps-leftover" / "pipes"
    folder.mkdir(parents=True)
    (folder.parent / mps.LOCK).touch()
    env = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": str(folder)}
    left = subprocess.Popen([tmp_path / MPS_CONTROL, "-f"], env=env)
    while not (folder / "control").exists():
        time.sleep(0.01)
    with mps.daemon():
        assert left.wait(LIMIT) == 0
    assert not folder.parent.exists()


def test_the_folder_of_a_process_that_lives_stays(install: Install, tmp_path: Path) -> None:
    install()
    first = mps.pipe_folder()
    mps._private_folder.cache_clear()
    assert mps.pipe_folder() != first
    assert first.parent.is_dir()
    assert len(list(tmp_path.glob("nearpeak-mps-*"))) == 2


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO])
def test_without_locks_one_folder_is_made_and_none_removed(
    install: Install,
    tmp_path: Path,
    without_flock: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    code: int,
) -> None:
    install()
    other = tmp_path / "nearpeak-mps-of-another"
    other.mkdir()
    (other / mps.LOCK).touch()
    made = counted_folders(monkeypatch)
    without_flock(code)
    mine = mps.pipe_folder().parent
    assert made == [mine]
    assert other.is_dir()
    monkeypatch.undo()  # there are locks again
    mps._remove_left(tmp_path)
    assert mine.is_dir()  # nobody can tell whether its process lives
    assert not other.exists()
    shutil.rmtree(mine)


def test_where_others_take_each_new_folder_it_is_another_base(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    base = tmp_path / "run"
    base.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    real = mps._locked

    def held(folder: Path) -> int | None:
        return None if folder.parent == base else real(folder)

    monkeypatch.setattr(mps, "_locked", held)
    made = counted_folders(monkeypatch)
    assert mps.pipe_folder().parent.parent == tmp_path
    assert len(made) < 10


def counted_folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that are made from now on; many are an endless loop."""
    made, make = list[Path](), tempfile.mkdtemp

    def counted(**words: Any) -> str:
        folder = make(**words)
        made.append(Path(folder))
        assert len(made) < 50, "it makes folders for ever"
        return folder

    monkeypatch.setattr(mps.tempfile, "mkdtemp", counted)
    return made


def test_a_folder_of_another_user_is_neither_taken_nor_removed(
    install: Install, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    base = two_users.folder("tmp", 0, 0, 0o1777)
    left = two_users.folder("tmp/nearpeak-mps-24490fcb", OTHER, OTHER, 0o755)
    link = base / "nearpeak-mps-link"
    link.symlink_to(two_users.folder("precious", OWNER, OWNER, 0o700))
    monkeypatch.setattr(mps.tempfile, "tempdir", str(base))
    with acting(OWNER):
        folder = mps.pipe_folder()
    assert folder.parent.parent == base
    assert folder.parent.stat().st_uid == OWNER
    assert left.is_dir()
    assert link.is_dir()
    shutil.rmtree(folder.parent)


@pytest.mark.parametrize("runtime", ["own", "of another", "of all", "too long", "missing"])
def test_which_folder_it_lies_in(
    install: Install, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    """That of the session, if it is the user's alone and short."""
    install()
    monkeypatch.setattr(mps, "LONGEST_BASE", 60)
    mine, temporary = two_users.folder("run", OWNER, OWNER, 0o700), "/tmp"
    if runtime == "of another":
        os.chown(mine, OTHER, OTHER)
    elif runtime == "of all":
        mine.chmod(0o777)
    elif runtime == "too long":
        mine = two_users.folder("x" * 60, OWNER, OWNER, 0o700)
    elif runtime == "missing":
        mine.rmdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(mine))
    monkeypatch.setattr(mps.tempfile, "tempdir", temporary)
    with acting(OWNER):
        folder = mps.pipe_folder().parent
    assert str(folder.parent) == (str(mine) if runtime == "own" else temporary)
    shutil.rmtree(folder)


def test_without_a_safe_folder_there_is_none(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    monkeypatch.setattr(mps, "LONGEST_BASE", 3)
    with pytest.raises(UserError, match="no safe folder for the pipes of nvidia-cuda-mps-control"):
        mps.environment(mps=True)


def test_why_it_did_not_start_is_told(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("echo An instance of this daemon is already running; exit 1")
    said = "did not start: An instance of this daemon"
    with pytest.raises(mps.MpsError, match=said), mps.daemon():
        pass
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(mps.MpsError, match="was not found on PATH"), mps.daemon():
        pass
