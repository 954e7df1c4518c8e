# SPDX-License-Identifier: Apache-2.0
"""The check of a command line by the program that gets it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nearpeak.errors import RefusedError, UserError
from nearpeak.launching import programs
from nearpeak.libraries import launch
from nearpeak.runs.messages import check_words


def checked(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    tools = SimpleNamespace(mpi_program=lambda _: program)
    monkeypatch.setattr(programs, "TOOLS", tools)
    monkeypatch.setattr(launch, "environment", lambda _: {})
    single: Any = SimpleNamespace(
        native=False,
        benchmark=SimpleNamespace(name="latency"),
        library=SimpleNamespace(name="mpich"),
        program_options=lambda _: [],
    )
    check_words(single, [], "run")


def test_a_refusal_has_the_status_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RefusedError) as refused:
        checked(tmp_path, monkeypatch, "echo 'see nearpeak-mpi latency --help' >&2; exit 2")
    assert refused.value.status == 2
    assert capsys.readouterr().err == "see nearpeak run latency --help\n"


def test_a_program_that_crashes_as_it_starts_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"^mpich's program is ended by SIGSEGV as it starts: look"):
        checked(tmp_path, monkeypatch, "kill -SEGV $$")
