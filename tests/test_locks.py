# SPDX-License-Identifier: Apache-2.0
"""Locks of files, by flock, and by a file beside them where the file system has none."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak import locks
from nearpeak.locks import SUFFIX, HeldError, Lock, acquire


@pytest.fixture(params=["flock", errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def locking(request: pytest.FixtureRequest, without_flock: Callable[[int], None]) -> None:
    if request.param != "flock":
        without_flock(request.param)


@pytest.fixture
def no_flock(without_flock: Callable[[int], None]) -> None:
    without_flock(errno.ENOLCK)


def opened(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT, 0o600)


@pytest.mark.usefixtures("locking")
def test_one_alone_has_a_lock(tmp_path: Path) -> None:
    file = tmp_path / "file"
    first, second = opened(file), opened(file)
    lock = Lock(first, file)
    with pytest.raises(HeldError):
        Lock(second, file)
    lock.release()
    os.close(first)
    Lock(second, file).release()
    os.close(second)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("no_flock")
def test_the_error_names_who_has_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    lock = Lock(opened(file), file)
    with pytest.raises(HeldError, match=rf"process {os.getpid()} of \S+ has it: if that has ended"):
        Lock(opened(file), file)
    lock.release()


@pytest.mark.usefixtures("no_flock")
@pytest.mark.parametrize(
    ("change", "stale"),
    [
        ({"started": "1"}, True),  # another process has its number now
        ({"pid": 2**22 + 1}, True),
        ({"boot": "another"}, True),  # the same host, started anew
        ({"boot": "another", "machine": "b" * 32}, False),  # of the same name: `localhost`
        ({"boot": "another", "machine": ""}, False),
        ({"host": "another"}, False),
        ({"namespace": 1}, False),  # of a container on this host
        ({}, False),
    ],
)
def test_what_a_process_left_is_taken_over_if_it_has_ended_for_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], stale: bool
) -> None:
    monkeypatch.setattr(locks, "MACHINE_ID", machine_id(tmp_path.parent, "a" * 32))
    file, beside = tmp_path / "file", tmp_path / f"file{SUFFIX}"
    Lock(opened(file), file)
    beside.write_text(json.dumps(json.loads(beside.read_text()) | change))
    if stale:
        Lock(opened(file), file).release()
        assert [each.name for each in tmp_path.iterdir()] == ["file"]
    else:
        with pytest.raises(HeldError):
            Lock(opened(file), file)


@pytest.mark.usefixtures("no_flock")
@pytest.mark.parametrize("text", ["", "uninitialized", None])
def test_without_an_id_another_start_may_be_another_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """Containers and nodes with one image may all be called `localhost`."""
    missing = tmp_path.parent / "missing"
    there = missing if text is None else machine_id(tmp_path.parent, text)
    monkeypatch.setattr(locks, "MACHINE_ID", there)
    file, beside = tmp_path / "file", tmp_path / f"file{SUFFIX}"
    Lock(opened(file), file)
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"boot": "another"}))
    with pytest.raises(HeldError, match="if that has ended, remove the file"):
        Lock(opened(file), file)


def machine_id(folder: Path, text: str) -> Path:
    file = folder / "machine-id"
    file.write_text(f"{text}\n")
    return file


@pytest.mark.usefixtures("no_flock")
@pytest.mark.parametrize("content", [b"", b"[]", b"no JSON"])
def test_a_file_that_names_nobody_is_held(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    (tmp_path / f"file{SUFFIX}").write_bytes(content)
    with pytest.raises(HeldError, match="another process has it"):
        Lock(opened(file), file)


@pytest.mark.usefixtures("no_flock")
def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    program = (
        "import errno, fcntl, os, sys\n"
        "def refuse(*_): raise OSError(errno.ENOLCK, 'none')\n"
        "fcntl.flock = refuse\n"
        "from pathlib import Path\n"
        "from nearpeak.locks import Lock\n"
        "file = Path(sys.argv[1])\n"
        "Lock(os.open(file, os.O_RDWR | os.O_CREAT), file)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    assert (tmp_path / f"file{SUFFIX}").exists()
    Lock(opened(file), file).release()


@pytest.mark.usefixtures("locking")
def test_who_waits_says_so_once_and_has_it_then(tmp_path: Path) -> None:
    file = tmp_path / "file"
    descriptor = opened(file)
    lock, said = Lock(descriptor, file), list[str]()

    def waiting(held: str) -> None:
        said.append(held)
        lock.release()
        os.close(descriptor)

    acquire(opened(file), file, waiting).release()
    assert len(said) == 1


def test_other_errors_are_no_missing_locks(
    tmp_path: Path, without_flock: Callable[[int], None]
) -> None:
    without_flock(errno.EIO)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        Lock(opened(tmp_path / "file"), tmp_path / "file")
