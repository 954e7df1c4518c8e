# SPDX-License-Identifier: Apache-2.0
"""`nearpeak tune`: what is bad input, and its help."""

from collections.abc import Callable
from pathlib import Path

import pytest

Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a library, like `nearpeak tune --mpi openmpi`"),
        (["--resume", "--mpi", "x"], "--resume takes every option from the folder: give only -o"),
        (["--resume", "-o", "none"], "none/tune.jsonl cannot be read (No such file or directory)"),
        (
            ["--mpi", "one", "--budget", "1s"],
            "--budget: 1.0 s is too short for a search",
        ),
        (["--mpi", "x", "--budget", "soon"], "--budget: 'soon'"),
        (["--mpi", "one", "--for", "latency"], "--for latency: write BENCHMARK:SIZE, like latency"),
        (["--mpi", "x", "--trace", "none.json", "--for", "bw:8"], "--trace and --for both say"),
        (["--mpi", "x", "--trace", "none.json"], "--trace none.json: No such file or directory"),
        (["--mpi", "x", "--buffers", "Q,Q"], "--buffers: "),
        (["--mpi", "no-such-library"], "unknown MPI library"),
    ],
)
def test_bad_input_is_one_line(
    nearpeak: Nearpeak, tmp_path: Path, words: list[str], message: str
) -> None:
    before = list(tmp_path.iterdir())
    code, out, err = nearpeak("tune", *words)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert message in err
    assert list(tmp_path.iterdir()) == before


def test_help_has_examples(nearpeak: Nearpeak) -> None:
    code, out, _ = nearpeak("tune", "--help")
    assert code == 0
    assert "nearpeak tune --resume -o tuned" in out
    assert "BENCHMARK:SIZE" in out
