# SPDX-License-Identifier: Apache-2.0
"""One launch as a process tree: started, watched, and ended with everything that it started.

MPI launchers start their ranks in process groups of their own, so a group is not enough. While
a launch runs this process is the reaper of its orphans (Linux, PR_SET_CHILD_SUBREAPER), so that
whatever the launch started stays below us and can be found.
"""

import contextlib
import ctypes
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from nearpeak.watch import watched

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)

TICK_SECONDS = 0.25  # rare, because the watcher shares the machine with the measurement
TERM_GRACE_SECONDS = 5.0  # for a launcher to end its ranks, remote ones too
LEFTOVER_GRACE_SECONDS = 1.0  # for helpers of a launcher that has ended by itself
LOG_BYTES = 8 << 20  # a longer log is cut
LOG_ENDS_BYTES = 1 << 20  # to so much of its beginning, and of its end
_LEFT_OUT = re.compile(rb"\n\[nearpeak: (\d+) bytes left out\]\n")
KILL_SECONDS = 10.0  # a process that the kernel holds on to longer than this is left behind


@dataclass(frozen=True)
class Outcome:
    """The end of a process tree. `exit_status` is negative for a signal, None when not started."""

    end: str  # "exited", "hung", "stopped" or "not started"
    exit_status: int | None
    seconds: float
    reason: str = ""  # why it was not started


def run_captured(line: Sequence[str], seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Runs a program to its end, with its output kept. OSError if it does not start,
    subprocess.TimeoutExpired if it does not end."""
    with watched.launch() as (marks, _):
        return subprocess.run(
            line,
            env={**os.environ, **marks},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )


def run_tree(
    argv: list[str],
    *,
    env: dict[str, str],
    log: Path,
    limit_seconds: float,
    grace_seconds: float | None = None,
    errors: Path | None = None,
    tick: Callable[[], bool] = lambda: False,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Runs `argv` with `env` to its end, its output going to `log`, and that on stderr to `errors`
    if that is given.

    Of a log that grows beyond LOG_BYTES the beginning and the end are kept. What the launch leaves
    in /dev/shm is removed. When nearpeak is killed, a process that survives it ends the tree.

    `tick` is called a few times a second and says whether there was progress; when it raises, the
    tree is ended first. The tree is ended after `limit_seconds` without progress ("hung"), or when
    `stop` says so ("stopped"): it has `grace_seconds` for that (None: TERM_GRACE_SECONDS), then it
    is killed.
    """
    if grace_seconds is None:
        grace_seconds = TERM_GRACE_SECONDS
    started = time.monotonic()
    watched.start()
    before = set(psutil.Process().children(recursive=True))
    with (
        watched.launch() as (marks, segments),
        log.open("ab") as output,
        (errors or log).open("ab") as second,
        _reaping_orphans(),
    ):

        def cut() -> None:
            if errors is None:  # others follow what they read
                bound(log)

        def look() -> bool:
            segments.look()
            cut()
            return tick()

        try:
            process = subprocess.Popen(
                argv,
                env=env | marks,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=second,
                start_new_session=True,
                # The watcher sees what segments there are before it ends a launch.
                preexec_fn=None if watched.runs() else end_with_parent,
            )
        except OSError as error:
            reason = f"{argv[0]} cannot be started: {error.strerror}"
            return Outcome("not started", None, time.monotonic() - started, reason)
        end = "stopped"
        try:
            end = _watch(process, limit_seconds, look, stop)
        finally:
            if end != "exited":
                process.terminate()
            grace = LEFTOVER_GRACE_SECONDS if end == "exited" else grace_seconds
            _end_rest(process, before, grace, cut)
            cut()
    return Outcome(end, process.returncode, time.monotonic() - started)


def _watch(
    process: subprocess.Popen[bytes],
    limit_seconds: float,
    tick: Callable[[], bool],
    stop: Callable[[], bool],
) -> str:
    """Waits for the process to end and says why the waiting ended."""
    deadline = time.monotonic() + limit_seconds
    poller = select.poll()
    pidfd = os.pidfd_open(process.pid)
    try:
        poller.register(pidfd, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            ended = poller.poll(max(0.0, min(TICK_SECONDS, left)) * 1000)
            if tick():
                deadline = time.monotonic() + limit_seconds
            if ended:
                process.wait()
                return "exited"
            if stop():
                return "stopped"
            if time.monotonic() >= deadline:
                return "hung"
    finally:
        os.close(pidfd)


def _end_rest(
    process: subprocess.Popen[bytes],
    before: set[psutil.Process],
    grace_seconds: float,
    tick: Callable[[], None],
) -> None:
    """Waits `grace_seconds` for the tree to end, then kills what is left of it, and reaps it.
    Meanwhile it calls `tick`."""
    deadline = time.monotonic() + grace_seconds
    while (rest := _alive(process, before)) and time.monotonic() < deadline + KILL_SECONDS:
        if time.monotonic() >= deadline:
            for child in rest:
                with contextlib.suppress(psutil.Error):
                    child.kill()
        tick()
        time.sleep(0.02)
    process.poll()


def _alive(process: subprocess.Popen[bytes], before: set[psutil.Process]) -> list[psutil.Process]:
    """Returns the processes of the launch that still run, and reaps those that have ended."""
    process.poll()
    alive = []
    for child in psutil.Process().children(recursive=True):
        if child in before:
            continue
        with contextlib.suppress(psutil.NoSuchProcess):
            if not before.isdisjoint(child.parents()):
                continue  # a daemon of ours started it, not the launch
            if child.status() != psutil.STATUS_ZOMBIE:
                alive.append(child)
            elif child.ppid() == os.getpid() and child.pid != process.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)
    return alive


def bound(log: Path) -> None:
    """Keep the beginning and the end of a log that is too long, and note how much was left out.
    Writers may append meanwhile. As they may be faster, nothing of that is kept, and what comes
    while the end is moved is not counted."""
    with contextlib.suppress(OSError), log.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= LOG_BYTES:
            return
        file.seek(LOG_ENDS_BYTES)
        earlier = _LEFT_OUT.match(file.read(100))
        file.seek(size - LOG_ENDS_BYTES)
        end = file.read(LOG_ENDS_BYTES)
        left_out = os.fstat(file.fileno()).st_size - 2 * LOG_ENDS_BYTES
        if earlier:
            left_out += int(earlier[1]) - len(earlier[0])
        # In place, so that what is appended comes after it.
        file.seek(LOG_ENDS_BYTES)
        file.write(b"\n[nearpeak: %d bytes left out]\n" % left_out + end)
        file.truncate()


@contextlib.contextmanager
def _reaping_orphans() -> Iterator[None]:
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def end_with_parent() -> None:
    """Makes a child get SIGTERM when this process is killed; a launcher then ends its ranks. For a
    child before exec."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
