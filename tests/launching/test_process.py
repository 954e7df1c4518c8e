# SPDX-License-Identifier: Apache-2.0
"""Process trees, run for real."""

import io
import sys
from pathlib import Path
from typing import IO

import pytest

from nearpeak.launching import process
from nearpeak.launching.process import run_tree

TALKS = "import time\nfor _ in range(8): print('.', flush=True); time.sleep(0.5)"


@pytest.mark.parametrize(("watched", "end"), [(True, "exited"), (False, "hung")])
def test_a_program_hangs_when_it_gets_nowhere_and_not_when_it_takes_long(
    tmp_path: Path, watched: bool, end: str
) -> None:
    log = tmp_path / "log"
    sizes = [0]

    def grown() -> bool:
        sizes.append(log.stat().st_size)
        return sizes[-1] > sizes[-2]

    outcome = run_tree(
        [sys.executable, "-c", TALKS],
        env={},
        log=log,
        limit_seconds=2.0,
        tick=grown if watched else lambda: False,
    )
    assert outcome.end == end


FLOOD = """
import sys
sys.stdout.write("first words\\n")
for number in range(40000):
    sys.stdout.write(f"{number:07d}" + "x" * 992 + "\\n")
sys.stdout.write("last words\\n")
"""


def test_a_flood_is_kept_with_its_beginning_and_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_tree([sys.executable, "-c", FLOOD], env={}, log=log, limit_seconds=600)
    text = log.read_bytes()
    assert len(text) <= process.LOG_BYTES
    assert text.startswith(b"first words\n0000000x")
    assert text.endswith(b"last words\n")
    assert text.count(b" bytes left out]") == 1


def test_what_is_left_out_is_counted_over_all_times(tmp_path: Path) -> None:
    log = tmp_path / "log"
    total = 0
    with log.open("ab", buffering=0) as writer:
        for number in range(3):
            total += writer.write(b"%d" % number * (process.LOG_BYTES + 1))
            process.bound(log)
    text = log.read_bytes()
    ends = 2 * process.LOG_ENDS_BYTES
    assert f"\n[nearpeak: {total - ends} bytes left out]\n".encode() in text
    assert (text[:1], text[-1:]) == (b"0", b"2")
    assert len(text) < ends + 100
    before = text
    process.bound(log)
    assert log.read_bytes() == before


def test_a_log_that_grows_while_it_is_read_is_cut_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    opened = Path.open
    writer = log.open("ab", buffering=0)
    total = writer.write(b"0" * (process.LOG_BYTES + 1))
    reads = 0

    class Flooded(io.BufferedRandom):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal reads, total
            reads += 1
            assert reads <= 2
            total += writer.write(b"1" * (1 << 20))
            return super().read(size)

    def flooded(self: Path, mode: str) -> IO[bytes]:
        return Flooded(io.FileIO(self, "r+")) if mode == "r+b" else opened(self, mode)

    with writer, monkeypatch.context() as patched:
        patched.setattr(Path, "open", flooded)
        process.bound(log)
    assert reads == 2
    assert log.stat().st_size <= process.LOG_BYTES
    left_out = total - 2 * process.LOG_ENDS_BYTES
    assert f"\n[nearpeak: {left_out} bytes left out]\n".encode() in log.read_bytes()


# Ignores the signal to end, and floods its log from then on.
LATE_FLOOD = f"""
import pathlib, signal, sys, time
def flood(*_):
    while pathlib.Path(sys.argv[1]).stat().st_size <= {process.LOG_BYTES}:
        sys.stdout.write("x" * 65536)
    while pathlib.Path(sys.argv[1]).stat().st_size > {process.LOG_BYTES}:
        time.sleep(0.01)
    pathlib.Path(sys.argv[2]).touch()
    sys.exit()
signal.signal(signal.SIGTERM, flood)
pathlib.Path(sys.argv[1]).with_name("ready").touch()
while True:
    time.sleep(600)
"""


def test_a_flood_is_cut_also_while_a_launch_is_ended(tmp_path: Path) -> None:
    log, cut = tmp_path / "log", tmp_path / "cut"
    outcome = run_tree(
        [sys.executable, "-c", LATE_FLOOD, str(log), str(cut)],
        env={},
        log=log,
        limit_seconds=600,
        grace_seconds=600,
        stop=(tmp_path / "ready").exists,
    )
    assert outcome.end == "stopped"
    assert cut.exists()
