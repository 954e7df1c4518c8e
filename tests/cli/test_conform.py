# SPDX-License-Identifier: Apache-2.0
"""`nearpeak conform`: what is bad input."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine import doctor

Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def nothing_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in doctor.settings_in(os.environ):
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--quick", "--full"), "--quick and --full exclude each other: give one of them"),
        (
            ("--resume", "--mpi", "one"),
            "--resume takes every option from the run that it completes",
        ),
        (("--resume",), "conform/conform.jsonl cannot be read"),
        (("--mpi", "scam"), "unknown MPI library 'scam'"),
        (("--mpi", "ceiling"), "ceiling is no MPI library: choose others with --mpi"),
        (("--mpi", "one", "--buffers", "D"), "--buffers D,D: there is no place for them"),
        (("--mpi", "one", "--operations", "bandwidth"), "--operations: unknown 'bandwidth'"),
        (("--mpi", "one", "--operations", ""), "--operations: '' is an empty list"),
        (("--mpi", "one", "--limit", "soon"), "'soon'"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    nearpeak: Nearpeak, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    code, out, err = nearpeak("conform", *words)
    assert (code, out) == (2, "")
    [line] = err.splitlines()
    assert line.startswith("nearpeak: ")
    assert said in line
    assert not (tmp_path / "conform").exists()
