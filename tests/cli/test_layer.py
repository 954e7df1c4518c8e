# SPDX-License-Identifier: Apache-2.0
"""`nearpeak layer`: the variables, and the command that it becomes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.libraries import build, discover

Nearpeak = Callable[..., tuple[int, str, str]]
BUILT = "/cache/the layer.so"


@pytest.fixture
def made(nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> Nearpeak:
    """The command, with a layer that nobody compiles."""
    monkeypatch.setattr(build, "build_layer", lambda _library: Path(BUILT))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delenv("OMPI_MCA_mca_base_env_list", raising=False)
    return nearpeak


def test_the_variables_are_lines_for_a_shell(made: Nearpeak) -> None:
    code, out, err = made("layer", "--print-env", "--mpi", "one", "--require", "--report")
    assert (code, err) == (0, "")
    told = subprocess.run(
        ["sh", "-c", f"{out} env"], env={}, capture_output=True, text=True, check=True
    ).stdout
    found = dict(line.split("=", 1) for line in told.splitlines())
    assert found["LD_PRELOAD"] == BUILT
    assert found["NEARPEAK_LAYER"] == "require"
    assert found["NEARPEAK_LAYER_REPORT"] == "1"


def test_it_becomes_the_command(made: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[Any] = []
    monkeypatch.setattr(os, "execvpe", lambda *words: became.append(words))
    code, out, err = made("layer", "--mpi", "one", "--", "mpirun", "-n", "2", "./app", "--report")
    assert (code, out, err) == (0, "", "")
    [(file, words, env)] = became
    assert (file, words) == ("mpirun", ["mpirun", "-n", "2", "./app", "--report"])
    assert env["LD_PRELOAD"] == BUILT
    assert "NEARPEAK_LAYER_REPORT" not in env
    assert env["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a command, like `nearpeak layer --mpi mpich -- mpirun -n 2 ./app`, or the"),
        (("--print-env",), "name a command, like"),
        (("--mpi", "one"), "name a command, like"),
        (("--mpi", "ceiling", "--", "app"), "ceiling is no MPI library: name that of the"),
        (("--mpi", "one", "--", "/nowhere/app"), "/nowhere/app cannot be started: No such file"),
        (("--explain",), "name a library, like `nearpeak layer --explain --mpi mpich`"),
        (
            ("--explain", "--mpi", "one", "--", "app"),
            "--explain goes with --mpi, --path and --json",
        ),
        (("--explain", "--mpi", "one", "--report"), "--explain goes with --mpi, --path and --json"),
        (("--path", "gpu-gpu nvlink", "--", "app"), "--path and --json go with --explain"),
        (("--", sys.executable), "is linked with an MPI library that is found: name the library"),
    ],
)
def test_bad_input(made: Nearpeak, words: tuple[str, ...], said: str) -> None:
    code, _, err = made("layer", *words)
    assert code == 2
    assert said in err


def test_calls_are_not_counted_under_the_layer(
    made: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_layer = msgspec.structs.replace(discover.resolve("one"), name="one+layer", layer=True)
    monkeypatch.setattr(discover, "resolve", lambda _spec: with_layer)
    code, _, err = made("trace", "--mpi", "one+layer", "--", "app")
    assert code == 2
    assert "one+layer: calls are counted without the layer" in err
