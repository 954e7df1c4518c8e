# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak trace`: its exit status, and a table that is not lost."""

import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_trace import entry, ran, trace

from nearpeak.libraries import discover
from nearpeak.trace.trace import SCHEMA, Trace

Nearpeak = Callable[..., tuple[int, str, str]]


def nothing_traced(exit_status: int) -> Trace:
    """Of a command without ranks."""
    return Trace(
        schema=SCHEMA,
        nearpeak="0",
        command=["app"],
        library="mpich 5",
        exit_status=exit_status,
        expected=0,
        missing=[],
        wall_seconds=0.0,
        ranks=[],
        entries=[],
    )


@pytest.mark.parametrize(
    ("ended", "signalled", "code", "last"),
    [
        (0, None, 0, ""),
        (7, None, 7, ""),
        (
            139,
            None,
            1,
            "nearpeak: the command ended with exit status 139, which is that of SIGSEGV;",
        ),
        (
            143,
            None,
            1,
            "nearpeak: the command ended with exit status 143, which is that of SIGTERM;",
        ),
        (255, None, 1, "nearpeak: the command ended with exit status 255; see what it said"),
        (1, signal.SIGINT, 130, "nearpeak: interrupted"),
        (143, signal.SIGTERM, 143, "nearpeak: interrupted by SIGTERM"),
    ],
)
def test_only_what_was_interrupted_ends_like_it(
    nearpeak: Nearpeak,
    monkeypatch: pytest.MonkeyPatch,
    ended: int,
    signalled: int | None,
    code: int,
    last: str,
) -> None:
    monkeypatch.setattr("nearpeak.trace.run.run", lambda *_: (nothing_traced(ended), signalled))
    found, _, err = nearpeak("trace", "--mpi", "one", "--", "app")
    assert found == code
    assert "".join(err.splitlines()[-1:]).startswith(last)


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        (
            "exit 143",
            1,
            "ended with exit status 143 before any process of it had come out of MPI_I",
        ),
        ("exit 2", 1, "ended with exit status 2 before any process of it had come out of MPI_Init"),
        ("exit 0", 2, "called MPI_Init of one: see what it said, and name the library"),
        ("kill -INT $PPID; sleep 1; exit 9", 130, "nearpeak: interrupted"),
        # It is passed on: nothing is left running.
        ("kill -TERM $PPID; exec sleep 60", 143, "nearpeak: interrupted by SIGTERM"),
    ],
)
def test_a_command_without_calls(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, script: str, code: int, said: str
) -> None:
    monkeypatch.setattr("nearpeak.trace.run.build_trace", lambda _: Path("/dev/null"))
    monkeypatch.setattr("nearpeak.trace.run.environment", lambda *_: dict(os.environ))
    # A shell starts what it runs in the background with the signal ignored: these tests, maybe.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found, _, err = nearpeak("trace", "--mpi", "one", "--", "sh", "-c", script)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (found, len(err.splitlines())) == (code, 1)
    assert said in err


def test_a_target_is_checked_before_the_command_runs(nearpeak: Nearpeak, tmp_path: Path) -> None:
    target, ran = tmp_path / "missing" / "t.json", tmp_path / "ran"
    command = ("sh", "-c", f"touch {shlex.quote(str(ran))}")
    code, _, err = nearpeak("trace", "--mpi", "one", "-o", str(target), "--", *command)
    assert code == 2
    assert f"cannot write {target}: No such file or directory" in " ".join(err.split())
    assert not ran.exists()


def test_a_page_is_written_beside_the_json(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("nearpeak.trace.run.run", lambda *_: (nothing_traced(0), None))
    target = tmp_path / "t.json"
    code, out, err = nearpeak("trace", "--mpi", "one", "-o", str(target), "--", "app")
    assert (code, err) == (0, "")
    assert out.endswith(f"\nPage: {tmp_path / 't.html'}\n")
    assert target.exists()
    assert "Where does the MPI time go?" in (tmp_path / "t.html").read_text(encoding="utf-8")
    code, _, err = nearpeak("trace", "--mpi", "one", "-o", str(tmp_path / "t.html"), "--", "app")
    assert code == 2
    assert "the page is written beside the JSON: give a name like trace.json" in err


def tuned(out: str) -> str:
    """The library in the command that searches for settings."""
    (line,) = [line for line in out.splitlines() if "nearpeak tune --mpi " in line]
    return line.partition(" --mpi ")[2].split()[0]


def test_the_search_for_settings_has_the_library_as_it_was_named(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    traced = trace(entry("MPI_Bcast", 16), ranks=[ran(rank, world=2) for rank in (0, 1)])
    monkeypatch.setattr("nearpeak.trace.run.run", lambda *_: (traced, None))
    target = ("-o", str(tmp_path / "t.json"), "--", "app")
    assert tuned(nearpeak("trace", "--mpi", "one", *target)[1]) == "one"
    known = msgspec.structs.replace(discover.resolve("one"), libmpi=tmp_path)
    monkeypatch.setattr("nearpeak.libraries.discover.find_libraries", lambda: [known])
    linked = msgspec.structs.replace(known, name="openmpi")
    monkeypatch.setattr("nearpeak.trace.application.library_of", lambda *_: linked)
    assert tuned(nearpeak("trace", *target)[1]) == "one"
    unknown = msgspec.structs.replace(linked, libmpi=tmp_path.parent)
    monkeypatch.setattr("nearpeak.trace.application.library_of", lambda *_: unknown)
    assert tuned(nearpeak("trace", *target)[1]) == "openmpi"


def test_the_table_comes_before_the_file(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = tmp_path / "there" / "t.json"
    target.parent.mkdir()

    def run(*_: Any) -> tuple[Trace, int | None]:
        target.parent.rmdir()  # meanwhile
        return nothing_traced(0), None

    monkeypatch.setattr("nearpeak.trace.run.run", run)
    code, out, err = nearpeak("trace", "--mpi", "one", "-o", str(target), "--", "app")
    assert code == 2
    assert "mpich 5: 0 ranks on 0 hosts" in out
    assert "cannot write" in err
