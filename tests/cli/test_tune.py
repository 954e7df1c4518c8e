# SPDX-License-Identifier: Apache-2.0
"""`nearpeak tune`, run as a user runs it: what it refuses, and what it would try."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.libraries.tunables import Offered, Tunable
from nearpeak.tune import run

Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a library, like `nearpeak tune --mpi openmpi`"),
        (["--resume", "--mpi", "x"], "--resume takes every option from the folder: give only -o"),
        (["--resume", "-o", "none"], "none/tune.jsonl cannot be read (No such file or directory)"),
        (["--mpi", "x", "--budget", "1s"], "--budget: 1 s are too few for a search and its conf"),
        (["--mpi", "x", "--budget", "soon"], "--budget: 'soon'"),
        (["--mpi", "x", "--for", "latency"], "--for latency: write BENCHMARK:SIZE, like latency"),
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


def test_a_folder_that_has_a_search_already(nearpeak: Nearpeak, tmp_path: Path) -> None:
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "tune.jsonl").write_text("")
    code, out, err = nearpeak("tune", "--mpi", "mpich")
    assert (code, out) == (2, "")
    assert "tuned has a tune.jsonl already: complete it with --resume, or name another" in err


def test_the_values_that_would_be_tried(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def setting(name: str, **more: list[str]) -> Offered:
        made = Tunable(name=name, component="x", summary="", source="x", values=["1", "2"], **more)
        return Offered(made, there=True, default="2")

    offered = [setting("ANY"), setting("GPU", needs=["gpu"]), setting("LACKS")]
    offered[2] = offered[2]._replace(there=False)
    monkeypatch.setattr(run, "offered", lambda _: offered)
    before = list(tmp_path.iterdir())
    code, out, err = nearpeak("tune", "--mpi", "one", "--for", "latency:8", "--dry-run")
    assert (code, out) == (0, "ANY=1\n"), err
    assert list(tmp_path.iterdir()) == before


def test_help_has_examples(nearpeak: Nearpeak) -> None:
    code, out, _ = nearpeak("tune", "--help")
    assert code == 0
    assert "nearpeak tune --resume -o tuned" in out
    assert "BENCHMARK:SIZE" in out
