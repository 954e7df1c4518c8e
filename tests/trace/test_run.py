# SPDX-License-Identifier: Apache-2.0
"""What a traced command is started with, and signals that it is passed."""

import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_libraries import made_library

from nearpeak.libraries.preload import PASSED_ON
from nearpeak.trace import run
from nearpeak.trace.run import environment

PRELOAD, FOLDER = Path("/cache/trace.so"), Path("/tmp/folder")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delenv(PASSED_ON, raising=False)


def seen(command: str, abi: str = "openmpi") -> dict[str, str]:
    library: Any = SimpleNamespace(abi=abi)
    return environment(command.split(), library, PRELOAD, FOLDER)


def test_what_was_loaded_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen("mpirun app")["LD_PRELOAD"] == "/cache/trace.so"
    monkeypatch.setenv("LD_PRELOAD", "/other.so")
    assert seen("mpirun app")["LD_PRELOAD"] == "/cache/trace.so:/other.so"
    assert seen("mpirun app")["NEARPEAK_TRACE"] == "/tmp/folder"


def test_open_mpi_is_told_what_to_pass_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen("mpirun app")[PASSED_ON] == "LD_PRELOAD;NEARPEAK_TRACE"
    monkeypatch.setenv(PASSED_ON, "HOME")
    assert seen("mpirun app")[PASSED_ON] == "HOME;LD_PRELOAD;NEARPEAK_TRACE"


def test_it_is_told_in_one_way_alone() -> None:
    assert PASSED_ON not in seen("mpirun -x LD_PRELOAD -x NEARPEAK_TRACE app")
    assert PASSED_ON not in seen("mpiexec app", abi="mpich")


def test_a_signal_that_comes_as_the_command_starts_is_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []

    def start(*words: Any, **more: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(*words, **more))
        os.kill(os.getpid(), signal.SIGTERM)
        return started[0]

    monkeypatch.setattr(run, "subprocess", SimpleNamespace(Popen=start))
    monkeypatch.setattr(run, "build_trace", lambda _: PRELOAD)
    monkeypatch.setattr(run, "environment", lambda *_: dict(os.environ))
    library: Any = made_library()
    # Whoever takes no signal yet is ended by it: the tests, too.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with pytest.raises(run.Interrupted):
            run.run(["sleep", "20"], library)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert started[0].returncode == -signal.SIGTERM
