# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak conform` on stand-ins: its folder, what ends it early, its exit status."""

import contextlib
import errno
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.conform import run
from nearpeak.conform.progress import Progress
from nearpeak.launching import mps, paths
from nearpeak.machine import allocation, doctor

Nearpeak = Callable[..., tuple[int, str, str]]


def conclusion(out: str) -> str:
    """The sentence that the answer begins with."""
    return next(line for line in out.splitlines() if re.match(r"\d+ cases? tried", line))


@pytest.fixture(autouse=True)
def nothing_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in doctor.settings_in(os.environ):
        monkeypatch.delenv(name)


def test_a_run_and_one_that_goes_on(nearpeak: Nearpeak, tmp_path: Path) -> None:
    code, out, err = nearpeak("conform", "--mpi", "one", "--operations", "latency,put", "-o", "c")
    assert (code, err) == (0, "")
    # On the host alone: of each data, at an odd offset too, churn, leak, grow.
    assert conclusion(out) == "10 cases tried, none failed."
    assert re.search(r"^ *one 1 +10$", out, re.MULTILINE)
    assert out.splitlines()[-1] == "c/conform.html"
    found = json.loads((tmp_path / "c" / "conform.json").read_text())
    assert {outcome["status"] for outcome in found["libraries"][0]["outcomes"]} == {"ok"}
    assert (tmp_path / "c" / "conform.html").read_text().startswith("<!DOCTYPE html>")
    lines = (tmp_path / "c" / "conform.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "c" / "conform.jsonl").write_text("".join(lines[:-3]))
    code, out, _ = nearpeak("conform", "--resume", "-o", "c")
    assert (code, conclusion(out)) == (0, "10 cases tried, none failed.")


def test_a_damaged_run_goes_on_from_its_last_good_line(nearpeak: Nearpeak, tmp_path: Path) -> None:
    nearpeak("conform", "--mpi", "one", "--operations", "put", "--quick", "-o", "c")
    file = tmp_path / "c" / "conform.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:-1], lines[-1].replace('"ok"', '"no"')]))
    code, out, err = nearpeak("conform", "--resume", "-o", "c")
    assert (code, conclusion(out)) == (0, "1 case tried, none failed."), err
    assert len([*(tmp_path / "c").glob("conform.jsonl.damaged-*")]) == 1


def test_inherited_settings_are_told(nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCX_TLS", "tcp")
    words = ("conform", "--mpi", "one", "--operations", "put", "--quick", "-o", "c")
    _, _, err = nearpeak(*words)
    assert "inherited from your shell, and not one's own settings: UCX_TLS=tcp; unset" in err


def test_what_was_cut_off_between_libraries_is_not_complete(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    mpi = ("--mpi", "one", "--mpi", "two")
    nearpeak("conform", *mpi, "--operations", "put", "--quick", "-o", "c")
    file = tmp_path / "c" / "conform.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    last = next(
        number
        for number, line in enumerate(map(json.loads, lines))
        if (line["record"], line.get("library")) == ("outcome", "two")
    )
    file.write_text("".join(lines[:last]))
    _, out, _ = nearpeak("report", "c")
    assert re.search(
        r"^ *library +ok +still to be tried\n *one 1 +1 +–\n *two 1 +– +1$", out, re.MULTILINE
    )
    assert conclusion(out) == "1 case tried so far, none failed; the run is not complete."
    file.write_text(lines[0])
    _, out, _ = nearpeak("report", "c")
    assert conclusion(out) == "0 cases tried so far, none failed; the run is not complete."


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_signal_ends_is_completed(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """SIGTERM: the end of a job, which says why; Ctrl-C is what it is."""
    monkeypatch.setattr(allocation, "why_ending", lambda: "the job was cancelled")
    why = "ended by SIGINT" if number == signal.SIGINT else "the job was cancelled"
    tell = Progress.tell

    def ending(self: Progress, *told: Any) -> None:
        tell(self, *told)
        signal.raise_signal(number)

    before = signal.signal(
        number, signal.default_int_handler
    )  # where it was ignored from the start
    try:
        with monkeypatch.context() as patched:
            patched.setattr(Progress, "tell", ending)
            code, out, _ = nearpeak("conform", "--mpi", "one", "--operations", "latency", "-o", "c")
    finally:
        signal.signal(number, before)
    assert code == 128 + number
    assert f"interrupted: {why}\n" in out
    assert "nearpeak: interrupted; complete it with: nearpeak conform --resume -o c\n" in out
    *_, last = (tmp_path / "c" / "conform.jsonl").read_text().splitlines()
    interrupted = json.loads(last)
    assert interrupted == {"record": "interrupted", "reason": why, "seal": interrupted["seal"]}
    assert nearpeak("publish", "c", "-o", "copy")[0] == 0
    *_, copied = (tmp_path / "copy" / "conform.jsonl").read_text().splitlines()
    assert copied.partition(',"seal"')[0] == last.partition(',"seal"')[0]
    assert (tmp_path / "c" / "conform.html").exists()
    code, out, _ = nearpeak("conform", "--resume", "-o", "c")
    assert (code, conclusion(out)) == (0, "5 cases tried, none failed.")


def test_what_fails_is_told_and_the_status_is_1(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_FAKE", "probe H,H put crash")
    code, out, _ = nearpeak("conform", "--mpi", "two@default", "--operations", "latency,put")
    assert code == 1
    assert "two: put, H,H, 8 B: crashed: ended by SIGSEGV" in out
    assert conclusion(out) == "6 cases tried, 1 of them failed, 4 not tried."


def test_a_library_of_which_nothing_was_tried_is_told_and_the_status_is_1(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_FAKE", "probe no device")
    code, out, _ = nearpeak("conform", "--mpi", "one", "--operations", "put", "-o", "c")
    last = out.splitlines()[-1]
    assert (code, last) == (1, "Exit status 1: nothing could be tried of one")
    assert conclusion(out) == "0 cases tried, none failed, 5 not tried."
    code, out, _ = nearpeak("report", "c")
    assert (code, out.splitlines()[-1]) == (1, last)


def test_the_page_is_made_again(nearpeak: Nearpeak, tmp_path: Path) -> None:
    nearpeak("conform", "--mpi", "one", "--operations", "latency", "-o", "c")
    for name in ("conform.json", "conform.html"):
        (tmp_path / "c" / name).unlink()
    code, out, _ = nearpeak("report", "c")
    assert (code, conclusion(out)) == (0, "5 cases tried, none failed.")
    assert (tmp_path / "c" / "conform.json").exists()
    assert (tmp_path / "c" / "conform.html").exists()
    code, _, err = nearpeak("report", "c", "--beside", "lassen-2019")
    assert (code, err) == (
        2,
        "nearpeak: c is of `nearpeak conform`: give only --open, --summary and -o\n",
    )


def test_a_full_disk_is_one_line_and_what_was_recorded_is_completed(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, room = os.write, iter(range(5))

    def write(file: int, data: bytes) -> int:
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    code, _, err = nearpeak("conform", "--mpi", "one", "--operations", "latency,put", "-o", "c")
    assert (code, err) == (
        1,
        "nearpeak: no space is left for c: free some, then `nearpeak conform --resume -o c` "
        "completes it\n",
    )
    file = tmp_path / "c" / "conform.jsonl"
    assert len(file.read_bytes().splitlines()) == 5
    monkeypatch.setattr(os, "write", real)
    code, out, _ = nearpeak("conform", "--resume", "-o", "c")
    assert (code, conclusion(out)) == (0, "10 cases tried, none failed.")


def test_what_fails_for_a_full_disk_is_not_the_library_s_fault(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_FAKE", "probe H,H put crash")
    monkeypatch.setattr("nearpeak.conform.run.disk_is_full", lambda folder: folder == Path("c"))
    code, _, err = nearpeak("conform", "--mpi", "one", "--operations", "latency,put", "-o", "c")
    assert code == 1
    assert err.startswith("nearpeak: no space is left for c: ")
    assert "crashed" not in (tmp_path / "c" / "conform.jsonl").read_text()


def test_a_path_with_mps_has_its_daemon(
    nearpeak: Nearpeak, tmp_path: Path, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the folder which a command names that repeats a case."""
    path = standins.gpu_path("gpu-gpu same-gpu mps", mps=True)
    found = ([standins.data_path(), path], [])
    for module in (paths, run):
        monkeypatch.setattr(module, "discover_paths", lambda *_, **__: found)
    monkeypatch.setenv("NEARPEAK_FAKE", "probe D,D latency crash")
    begun = []

    @contextlib.contextmanager
    def daemon() -> Iterator[None]:
        begun.append("daemon")
        yield

    words = ["conform", "--mpi", "one", "--operations", "latency", "--quick", "--path", path.id]
    with monkeypatch.context() as patched:
        patched.setattr(mps, "daemon", daemon)
        code, out, _ = nearpeak(*words, "-o", "c")
    assert code == 1, out
    assert len(begun) > 1  # jobs have one after the other
    written = (tmp_path / "c" / "conform.json").read_text()
    assert str(mps.pipe_folder()) in written
    assert json.loads(written)["path"] == path.id
    monkeypatch.setattr(mps, "MPS_CONTROL", "no-such-daemon")
    code, _, err = nearpeak(*words, "-o", "d")
    assert code == 2
    assert err.endswith("no-such-daemon was not found on PATH: leave out the paths with mps\n")
