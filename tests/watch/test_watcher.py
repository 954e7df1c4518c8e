# SPDX-License-Identifier: Apache-2.0
"""What launches leave is ended and removed, also when nearpeak is killed in them."""

import errno
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nearpeak.launching.process import run_tree
from nearpeak.watch import watched, watcher

LIMIT = 60  # seconds for what hangs
# A launcher that ignores SIGTERM, and whose rank is in a session of its own, and has a segment.
STUBBORN = """
import mmap, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
segment = os.open("/dev/shm/" + sys.argv[2] + str(os.getpid()), os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(segment, 4096)
kept = mmap.mmap(segment, 4096)
os.close(segment)
with open(sys.argv[1], "a") as told:
    told.write(str(os.getpid()) + "\\n")
while True:
    time.sleep(600)
"""
KILLED = """
import sys
from pathlib import Path
from nearpeak.launching.process import run_tree
from nearpeak.watch.watched import temporary_folder
stubborn, told, name, folder = sys.argv[1:]
with temporary_folder("nearpeak-run-") as temporary:
    Path(folder).write_text(str(temporary))
    run_tree([sys.executable, "-c", stubborn, told, name], env={}, log=Path(told + ".log"),
             limit_seconds=600)
"""


def waited_for(condition: Callable[[], bool]) -> bool:
    ends = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def name() -> Iterator[str]:
    """The beginning of the names of a test's segments."""
    name = f"nearpeak-test-{secrets.token_hex(6)}-"
    yield name
    for file in Path(watcher.SHM).glob(f"{name}*"):
        file.unlink()


def segments(name: str) -> list[Path]:
    return list(Path(watcher.SHM).glob(f"{name}*"))


def pids(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def test_nothing_outlives_a_nearpeak_that_is_killed(tmp_path: Path, name: str) -> None:
    told, folder = tmp_path / "told", tmp_path / "folder"
    argv = [sys.executable, "-c", KILLED, STUBBORN, str(told), name, str(folder)]
    with subprocess.Popen(argv) as nearpeak:
        assert waited_for(lambda: len(pids(told)) == 2)
        assert len(segments(name)) == 2
        nearpeak.send_signal(signal.SIGKILL)
    assert waited_for(lambda: not any(map(watcher.started, pids(told))))
    assert waited_for(lambda: not segments(name))
    assert waited_for(lambda: not Path(folder.read_text()).exists())


COMPILES = """
import os, sys
from pathlib import Path
from nearpeak.libraries.compiling import run_shown
build = ["sh", "-c", "sleep 600 & echo $! $$ > pids; wait"]
run_shown("all", [build], dict(os.environ), Path("log"))
"""


def test_no_compiler_outlives_a_nearpeak_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", COMPILES], cwd=tmp_path) as nearpeak:
        assert waited_for(lambda: len(pids(tmp_path / "pids")) == 2)
        nearpeak.send_signal(signal.SIGKILL)
    assert waited_for(lambda: not any(map(watcher.started, pids(tmp_path / "pids"))))


def test_what_a_launch_left_in_shared_memory_is_removed(tmp_path: Path, name: str) -> None:
    """But not what another process had before, or makes beside it."""
    told = tmp_path / "told"
    before, beside = (Path(watcher.SHM, f"{name}{word}") for word in ("before", "beside"))
    before.touch()

    def seen() -> bool:
        beside.touch()
        return len(pids(told)) == 2 and len(segments(name)) == 4

    looks = [0]

    def stop() -> bool:
        looks[0] += seen()
        return looks[0] > 1  # it was looked at in between

    run_tree(
        [sys.executable, "-c", STUBBORN, str(told), name],
        env={},
        log=tmp_path / "log",
        limit_seconds=LIMIT,
        grace_seconds=0.2,
        stop=stop,
    )
    assert looks[0] > 1
    assert sorted(segments(name)) == sorted([before, beside])


def test_what_a_process_has_mapped_is_not_removed(tmp_path: Path, name: str) -> None:
    told = tmp_path / "told"
    argv = [sys.executable, "-c", STUBBORN, str(told), name]
    with subprocess.Popen(argv, start_new_session=True):
        try:
            assert waited_for(lambda: len(pids(told)) == 2)
            mine = [each.name for each in segments(name)]
            watcher.remove_segments(mine)
            assert sorted(each.name for each in segments(name)) == sorted(mine)
        finally:
            for pid in pids(told):
                os.kill(pid, signal.SIGKILL)
    assert waited_for(lambda: not any(map(watcher.started, pids(told))))
    watcher.remove_segments(mine)
    assert segments(name) == []


def test_the_processes_of_a_launch_are_known_by_its_token() -> None:
    token = secrets.token_hex(16)
    code = (
        "import os, subprocess; subprocess.run(['sleep', '600'], env={'PATH': os.environ['PATH']})"
    )
    env = {**os.environ, watcher.VARIABLE: token}
    with subprocess.Popen([sys.executable, "-c", code], env=env) as process:
        try:  # with the one whose environment lacks it
            assert waited_for(lambda: len(watcher.of_launch(token)) == 2)
            assert process.pid in watcher.of_launch(token)
            assert watcher.of_launch(token[:-1]) == {}
        finally:
            for pid in watcher.of_launch(token):
                os.kill(pid, signal.SIGKILL)


def test_no_process_gets_a_signal_that_has_the_number_of_one_that_ended() -> None:
    """Its number was found, it ended, and another process has the number by now."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            started = watcher.started(process.pid)
            watcher.send(process.pid, b"1", signal.SIGKILL)
            watcher.send(process.pid, started, signal.SIGTERM)
            assert process.wait(LIMIT) == -signal.SIGTERM
            watcher.send(process.pid, started, signal.SIGTERM)  # there is none: nothing happens
        finally:
            process.kill()


def test_a_signal_goes_to_the_process_that_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However its number is used between the look and the signal."""
    sent = []
    monkeypatch.setattr(os, "kill", lambda *words: sent.append(words))
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            watcher.send(process.pid, watcher.started(process.pid), signal.SIGKILL)
            assert process.wait(LIMIT) == -signal.SIGKILL
            assert sent == []
        finally:
            monkeypatch.undo()
            process.kill()


@pytest.mark.parametrize("how", ["no such function", "no such call", "forbidden"])
def test_without_pidfds_it_is_the_number(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    def refuse(_pid: int) -> int:
        code = errno.ENOSYS if how == "no such call" else errno.EPERM
        raise OSError(code, os.strerror(code))

    if how == "no such function":
        monkeypatch.delattr(os, "pidfd_open")
    else:
        monkeypatch.setattr(os, "pidfd_open", refuse)
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            watcher.send(process.pid, b"1", signal.SIGKILL)
            watcher.send(process.pid, watcher.started(process.pid), signal.SIGTERM)
            assert process.wait(LIMIT) == -signal.SIGTERM
        finally:
            process.kill()


def test_one_watcher_serves_all_launches(tmp_path: Path) -> None:
    numbers = set()
    for _ in range(2):
        run_tree(["true"], env={"PATH": os.environ["PATH"]}, log=tmp_path / "log", limit_seconds=60)
        numbers.add(watched.pid())
    assert len(numbers) == 1
    assert None not in numbers


def test_a_temporary_folder_is_removed() -> None:
    with watched.temporary_folder("nearpeak-run-") as folder:
        assert folder.is_dir()
        assert folder.name.startswith("nearpeak-run-")
    assert not folder.exists()
