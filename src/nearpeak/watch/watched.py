# SPDX-License-Identifier: Apache-2.0
"""Reports what is to be ended or removed when nearpeak is killed to a process that survives it
(`watcher.py`), which is started once, before the first launch."""

import atexit
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nearpeak.watch import watcher

_LOOKS = 3  # at a new segment: what no process of a launch has mapped by then is not the launch's
_lock = threading.Lock()
_process: "subprocess.Popen[bytes] | None" = None


def start() -> None:
    """Start the watcher, if it does not run."""
    global _process
    with _lock:
        if runs():
            return
        with contextlib.suppress(OSError):  # without it, what is killed is still sent a signal
            _process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", watcher.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
            atexit.register(_close, _process)


def runs() -> bool:
    """True if the watcher runs."""
    return _process is not None and _process.poll() is None


def pid() -> int | None:
    """The watcher's process id; None: it does not run."""
    return None if _process is None else _process.pid


def _close(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        process.communicate()


def _tell(*fields: str) -> None:
    with _lock, contextlib.suppress(OSError, ValueError):
        if _process is not None and _process.stdin is not None:
            _process.stdin.write(os.fsencode(" ".join(fields)) + b"\n")
            _process.stdin.flush()


class Segments:
    """The shared memory in /dev/shm that the processes of a launch are seen to have."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._before = watcher.own_segments()
        self._looks: Counter[str] = Counter()  # at names that are new
        self._mine: set[str] = set()

    def look(self) -> None:
        """See which names are new, and whether a process of the launch has them."""
        appeared = {name for name, _ in watcher.own_segments().items() - self._before.items()}
        self._looks.update(appeared - self._mine)
        new = {name for name in appeared - self._mine if self._looks[name] <= _LOOKS}
        having = new & watcher.mapped(watcher.of_launch(self._token)) if new else new
        self._mine |= having
        for name in having:
            if "\n" not in name:
                _tell("segment", self._token, name)

    def remove(self) -> None:
        """Remove what is left of them; the launch is over."""
        watcher.remove_segments(self._mine)


@contextlib.contextmanager
def launch() -> Iterator[tuple[dict[str, str], Segments]]:
    """Ends and removes what a launch leaves, also when nearpeak is killed during it. Yields the
    variables that its processes must have, and its shared memory."""
    start()
    token = secrets.token_hex(16)
    segments = Segments(token)
    _tell("begin", token)
    try:
        yield {watcher.VARIABLE: token}, segments
    finally:
        segments.remove()
        _tell("end", token)


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A private temporary folder, which is removed also when nearpeak is killed. OSError."""
    start()
    with contextlib.ExitStack() as cleanup, tempfile.TemporaryDirectory(prefix=prefix) as folder:
        if "\n" not in folder:
            _tell("folder", folder)
            cleanup.callback(_tell, "removed", folder)  # once it is
        yield Path(folder)
