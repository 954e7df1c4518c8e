# SPDX-License-Identifier: Apache-2.0
"""`nearpeak explain`: what is bad input."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("latency",), "name a library with --mpi"),
        (("latenz", "--mpi", "mpich"), "latenz"),
        (("latency", "--mpi", "mpich", "--sizes", "8X"), "--sizes: '8X' is not a size"),
        (("latency", "--mpi", "mpich", "--buffers", "X"), "--buffers: "),
        (("latency", "--mpi", "mpich", "--buffers", "D,D"), "buffers D,D"),
        (("latency", "--mpi", "nowhere"), "nowhere"),
        ((), "name a benchmark"),
        (("latency", "--worst", "3"), "--worst N goes with --study DIR"),
        (("latency", "--mpi", "mpich", "--study", "s"), "give one"),
        (("latency", "--mpi", "mpich", "--calls", "none"), "--calls"),
    ],
)
def test_bad_input_is_one_line(
    command: Nearpeak,
    installed: Callable[[str], Any],
    tmp_path: Path,
    words: tuple[str, ...],
    said: str,
) -> None:
    installed("mpich")
    code, _, err = command("explain", *words, "-o", str(tmp_path / "found"))
    assert code == 2
    [line] = [line for line in err.splitlines() if line.startswith("nearpeak")]
    assert said in line
    assert not (tmp_path / "found").exists()


def test_a_folder_that_cannot_be_made_is_one_line(
    command: Nearpeak, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    installed("mpich")
    (tmp_path / "file").touch()
    code, _, err = command("explain", "latency", "--mpi", "mpich", "-o", str(tmp_path / "file"))
    assert code == 2
    [line] = err.splitlines()
    assert line.startswith("nearpeak: cannot ")
