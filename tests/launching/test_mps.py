# SPDX-License-Identifier: Apache-2.0
"""Our own daemon of MPS: there while it is needed, and always ended. The daemon is a stand-in."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from mpi_launches import LIMIT

from nearpeak.launching import mps
from nearpeak.machine.gpus.nvidia import MPS_CONTROL

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
STUDY = "0123456789abcdef"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    def put(first_line: str = ":") -> None:
        program = tmp_path / MPS_CONTROL
        program.write_text(DAEMON % first_line)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    monkeypatch.setattr(mps.tempfile, "gettempdir", lambda: str(tmp_path))
    return put


def test_it_runs_in_a_private_folder_and_is_ended(install: object) -> None:
    install()
    folder = mps.pipe_folder(STUDY)
    with mps.daemon(STUDY):
        assert mps.environment(STUDY) == {"CUDA_MPS_PIPE_DIRECTORY": str(folder)}
        assert folder.stat().st_mode & 0o777 == 0o700
        pid = int((folder / "pid").read_text())
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)
    assert not folder.exists()


def test_it_is_ended_when_the_launch_fails(install: object) -> None:
    install()
    pids = []

    def launch() -> None:
        with mps.daemon(STUDY):
            pids.append(int((mps.pipe_folder(STUDY) / "pid").read_text()))
            raise RuntimeError("launch")

    with pytest.raises(RuntimeError, match="launch"):
        launch()
    assert not psutil.pid_exists(pids[0])


def test_one_that_does_not_quit_is_killed(install: object, monkeypatch: pytest.MonkeyPatch) -> None:
    install()
    monkeypatch.setattr(mps, "QUIT_SECONDS", 0.3)
    with mps.daemon(STUDY):
        folder = mps.pipe_folder(STUDY)
        pid = int((folder / "pid").read_text())
        (folder / "control").unlink()  # nobody can tell it to quit any more
    assert not psutil.pid_exists(pid)


def test_it_does_not_outlive_a_study_that_is_killed(install: object, tmp_path: Path) -> None:
    install()
    script = (
        "import os, sys; from nearpeak.launching import mps\n"
        f"mps.tempfile.gettempdir = lambda: {str(tmp_path)!r}\n"
        f"with mps.daemon({STUDY!r}): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    pid = int((mps.pipe_folder(STUDY) / "pid").read_text())
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(LIMIT)
    assert not psutil.pid_exists(pid)


def test_one_left_behind_is_asked_to_quit_before_its_folder_goes(
    install: object, tmp_path: Path
) -> None:
    install()
    folder = mps.pipe_folder(STUDY)
    folder.mkdir()
    env = {**os.environ, **mps.environment(STUDY)}
    left = subprocess.Popen([tmp_path / MPS_CONTROL, "-f"], env=env)
    while not (folder / "control").exists():
        time.sleep(0.01)
    with mps.daemon(STUDY):
        assert left.wait(LIMIT) == 0


def test_why_it_did_not_start_is_told(install: object, monkeypatch: pytest.MonkeyPatch) -> None:
    install("echo An instance of this daemon is already running; exit 1")
    said = "did not start: An instance of this daemon"
    with pytest.raises(mps.MpsError, match=said), mps.daemon(STUDY):
        pass
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(mps.MpsError, match="was not found on PATH"), mps.daemon(STUDY):
        pass
