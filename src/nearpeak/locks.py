# SPDX-License-Identifier: Apache-2.0
"""A lock on an open file, also where the file system has none (NFS without a lock daemon, Lustre
without `-o flock`): there a second file in its folder names the process that holds the lock."""

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearpeak.watch.watcher import started

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
SUFFIX = ".held"  # behind the name of the locked file
# One for each installation of a system (machine-id(5)); containers may lack it.
MACHINE_ID = Path("/etc/machine-id")
POLL_SECONDS = 0.2
_ATTEMPTS = 5  # to take over from a process that has ended, where others try as well


class HeldError(Exception):
    """Another process has the lock; the message is empty, or names it and says what to do."""


class Lock:
    """A lock that is held until `release`; where flock works, at most until the file is closed."""

    def __init__(self, opened: int, file: Path) -> None:
        """`opened`: the descriptor of `file`. HeldError; OSError where nothing can be locked."""
        self._beside: Path | None = None
        self._mine = b""
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeldError from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            beside = file.with_name(file.name + SUFFIX)
            self._mine = json.dumps(_myself()).encode()
            _take(beside, self._mine)
            self._beside = beside

    def release(self) -> None:
        """Releases the lock; the locked file is closed by whoever opened it."""
        if self._beside is not None and _content(self._beside) == self._mine:
            self._beside.unlink(missing_ok=True)
        self._beside = None


def acquire(opened: int, file: Path, waiting: Callable[[str], None]) -> Lock:
    """Waits for a lock. `waiting` is called once if another process has it, with the message of
    HeldError."""
    reported = False
    while True:
        try:
            return Lock(opened, file)
        except HeldError as error:
            if not reported:
                waiting(str(error))
            reported = True
            time.sleep(POLL_SECONDS)


def _take(file: Path, mine: bytes) -> None:
    """Makes the file, which no two processes can, or takes it over from one that has ended."""
    for _ in range(_ATTEMPTS):
        try:
            made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            held = _content(file)
            if held is not None and not _has_ended(held):
                raise HeldError(_held_message(file, held)) from None
            _remove(file, held)
            continue
        try:
            os.write(made, mine)
        except OSError:
            file.unlink()  # else nobody could tell whose it is
            raise
        finally:
            os.close(made)
        return
    raise HeldError(f"{file}: other processes try to take it; start again")


def _remove(file: Path, ended: bytes | None) -> None:
    """Remove the file of a process that has ended, but no other that was put there meanwhile."""
    aside = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    with contextlib.suppress(FileNotFoundError):
        file.rename(aside)
        if _content(aside) != ended:
            with contextlib.suppress(FileExistsError):
                os.link(aside, file)
        aside.unlink(missing_ok=True)


def _content(file: Path) -> bytes | None:
    """The bytes of a file; None if it does not exist."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _myself() -> dict[str, Any]:
    return {**_pid_scope(), "pid": os.getpid(), "started": started(os.getpid()).decode()}


def _pid_scope() -> dict[str, Any]:
    """The scope in which a process id is unique: a host since its start, and its namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    return {
        "host": socket.gethostname(),
        "machine": _machine(),
        "boot": boot,
        "namespace": namespace,
    }


def _machine() -> str:
    """The machine's id; empty: it has none."""
    try:
        text = MACHINE_ID.read_text(errors="replace").strip()
    except OSError:
        return ""
    return text if re.fullmatch("[0-9a-f]{32}", text) else ""  # not `uninitialized`


def _has_ended(held: bytes) -> bool:
    """True if the process that a file names has certainly ended. A process of another host may
    run, and an empty file is about to be filled. Hosts that share a folder may share a name
    (`localhost`), so another boot is the same host's only with the same machine id."""
    holder, scope = _holder(held), _pid_scope()
    if holder.get("host") != scope["host"]:
        return False
    if holder.get("boot") != scope["boot"]:
        return bool(scope["machine"]) and holder.get("machine") == scope["machine"]
    now = started(int(holder.get("pid", 0))).decode()
    return holder.get("namespace") == scope["namespace"] and holder.get("started") != now


def _holder(held: bytes) -> dict[str, Any]:
    try:
        holder = json.loads(held)
        int(holder["pid"])
    except (ValueError, KeyError, TypeError):
        return {}
    return dict(holder)


def _held_message(file: Path, held: bytes) -> str:
    holder = _holder(held)
    who = f"process {holder['pid']} of {holder.get('host')}" if holder else "another process"
    return f"{file} says that {who} has it: if that has ended, remove the file"
