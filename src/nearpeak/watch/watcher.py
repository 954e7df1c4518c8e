# SPDX-License-Identifier: Apache-2.0
"""A process that ends what nearpeak started, and removes what that left, when nearpeak is killed.

It is only this file, run as a script: it imports nothing of nearpeak, and sleeps until a line comes
through its standard input, whose end is that of nearpeak. A launch is known by a token in the
environment of all its processes, wherever they went in the tree of processes. Lines are:

    begin TOKEN      a launch begins, or has left something that is to be removed
    segment TOKEN NAME
                     it has a segment of shared memory in /dev/shm
    end TOKEN        it is over, and has left nothing
    folder PATH      a temporary folder was made
    removed PATH     and removed
"""

import contextlib
import functools
import os
import re
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

VARIABLE = "NEARPEAK_LAUNCH"
SHM = "/dev/shm"
SEGMENT = re.compile(re.escape(SHM) + r"/([^/]+)(?<! \(deleted\))")
GRACE_SECONDS = 5.0  # for a launcher to end its ranks, remote ones too
KILL_SECONDS = 10.0  # a process that the kernel holds on to longer than this is left behind
_POLL_SECONDS = 0.05
_QUIET_LOOKS = 3


def processes() -> list[int]:
    """The ids of all visible processes."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def of_launch(token: str) -> dict[int, bytes]:
    """The start times, by id, of the processes with a launch's token and of those that these
    started without it."""
    wanted = f"{VARIABLE}={token}".encode()
    parents: dict[int, int] = {}
    starts: dict[int, bytes] = {}
    members: set[int] = set()
    for pid in processes():
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[pid], starts[pid] = _stat(pid)
            mine = Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
            if mine and wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                members.add(pid)
    while children := {pid for pid, parent in parents.items() if parent in members} - members:
        members |= children
    return {pid: starts[pid] for pid in members - {os.getpid()}}


def _stat(pid: int) -> tuple[int, bytes]:
    """A process's parent and its start time, in ticks since the host's start (fields 4 and 22 of
    proc(5)). ValueError for one that has ended and is not reaped."""
    state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    if state in b"ZX":
        raise ValueError(pid)
    return int(fields[0]), fields[18]


def started(pid: int) -> bytes:
    """A process's start time, which with its id identifies it; empty if it has ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return _stat(pid)[1]
    return b""


def send(pid: int, start: bytes, number: int) -> None:
    """Sends a signal to the process with this start time: never to one that got its id later, not
    even between the check and the signal, except without pidfds (before Linux 5.3)."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(OSError))
        try:
            opened = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except (AttributeError, OSError):
            signal_it = functools.partial(os.kill, pid)
        else:
            stack.callback(os.close, opened)
            signal_it = functools.partial(signal.pidfd_send_signal, opened)
        if started(pid) == start:
            signal_it(number)


def mapped(pids: Iterable[int]) -> set[str]:
    """The names in /dev/shm that processes have mapped or open, but those that are unlinked."""
    files: set[str] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/maps").read_text("utf-8", "surrogateescape").split("\n")
            # The sixth field, which may have spaces, is the file.
            files.update(line.split(None, 5)[-1] for line in filter(None, lines))
            for number in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    files.add(str(number.readlink()))
    return {match[1] for match in map(SEGMENT.fullmatch, files) if match}


def own_segments() -> dict[str, int]:
    """The files in /dev/shm that are this user's, and their inodes."""
    segments = {}
    with contextlib.suppress(OSError), os.scandir(SHM) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                    segments[entry.name] = status.st_ino
    return segments


def remove_segments(names: Iterable[str]) -> None:
    """Removes the segments that a finished launch has left, except those that a process has mapped
    or open, and those of other users."""
    left = own_segments().keys() & names
    in_use = mapped(processes()) if left else left
    for name in left - in_use:
        with contextlib.suppress(OSError):
            Path(SHM, name).unlink()


def end_launch(token: str, segments: set[str]) -> None:
    """End all processes of a launch, and remove what they leave."""
    ends = time.monotonic() + GRACE_SECONDS
    terminated: dict[int, bytes] = {}
    quiet = 0  # looks that found nothing: one process may start another while it is looked at
    while quiet < _QUIET_LOOKS and time.monotonic() < ends + KILL_SECONDS:
        pids = of_launch(token)
        quiet = 0 if pids else quiet + 1
        segments |= mapped(pids)
        late = time.monotonic() > ends
        number, done = (signal.SIGKILL, {}) if late else (signal.SIGTERM, terminated)
        for pid, start in pids.items() - done.items():
            send(pid, start, number)
        terminated |= pids
        time.sleep(_POLL_SECONDS)
    remove_segments(segments)


def remove_folder(folder: str) -> None:
    """Remove a folder, also where a process that is being killed puts a last file into it."""
    ends = time.monotonic() + GRACE_SECONDS
    while os.path.lexists(folder) and time.monotonic() < ends:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_POLL_SECONDS)


def main() -> None:
    """Follow standard input to its end, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    launches: dict[str, set[str]] = {}
    folders: dict[str, None] = {}

    def segment(text: str) -> None:
        token, _, name = text.partition(" ")
        launches.get(token, set()).add(name)

    follow: dict[str, Callable[[str], object]] = {
        "begin": lambda token: launches.update({token: set()}),
        "segment": segment,
        "end": lambda token: launches.pop(token, None),
        "folder": lambda path: folders.update({path: None}),
        "removed": lambda path: folders.pop(path, None),
    }
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word in follow:
            follow[word](rest)
    for token, segments in launches.items():
        end_launch(token, segments)
    for folder in folders:
        remove_folder(folder)


if __name__ == "__main__":
    main()
