# SPDX-License-Identifier: Apache-2.0
"""What is said while something is compiled; shell scripts are in the place of cmake and ninja."""

import os
from pathlib import Path

import pytest

from nearpeak.libraries import compiling
from nearpeak.libraries.compiling import run_shown

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def script(text: str) -> list[str]:
    return ["sh", "-c", text]


def test_without_a_terminal_lines_say_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiling, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(compiling, "TELL_SECONDS", 0.0)
    log, told = tmp_path / "log", tmp_path / "told"
    steps = "echo '[1/48] Building'; echo '[12/48] Building'"
    build = script(f"{steps}; until [ -e {told} ]; do sleep 0.01; done")
    real = compiling._progress

    def progress(log: Path) -> str:
        words = real(log)
        if words.startswith("12 of 48 "):
            told.touch()
        return words

    monkeypatch.setattr(compiling, "_progress", progress)
    assert run_shown("nearpeak-mpi for [mpich]", [script("echo one"), build], ENVIRONMENT, log) == 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == (
        "Compiling nearpeak-mpi for [mpich]: needed once, and takes a minute or more"
    )
    assert any("nearpeak-mpi for [mpich]: 12 of 48 steps, " in line for line in lines[1:-1])
    assert lines[-1].startswith("Compiled nearpeak-mpi for [mpich] in ")
    assert log.read_text() == "one\n[1/48] Building\n[12/48] Building\n"


def test_what_fails_ends_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    commands = [script("echo one; exit 3"), script("echo two")]
    assert run_shown("it", commands, ENVIRONMENT, log) == 3
    assert log.read_text() == "one\n"
    assert "Compiled" not in capfd.readouterr().err
