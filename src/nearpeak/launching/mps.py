# SPDX-License-Identifier: Apache-2.0
"""A private daemon of NVIDIA's MPS, for launches whose ranks share one GPU through it.

Its pipes lie in a private folder with a name that nobody can guess, so that no other program uses
it, and nobody else's daemon is mistaken for it. It lives as long as the launch. All other launches
on GPUs look for a daemon in a folder that cannot exist. (NVIDIA, "Multi-Process Service", on
CUDA_MPS_PIPE_DIRECTORY and the commands.)
"""

import atexit
import contextlib
import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.launching.process import end_with_parent
from nearpeak.machine.gpus.nvidia import MPS_CONTROL
from nearpeak.owners import risks
from nearpeak.terms.logs import last_words

START_SECONDS = 10.0
QUIT_SECONDS = 20.0
VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
# A folder that is on no host, and that nobody can make.
NOWHERE = "/proc/no-mps"
PREFIX = "nearpeak-mps-"
PIPES = "pipes"  # in the private folder, while a daemon runs
LOCK = "lock"  # in the private folder, held as long as its process lives
_ATTEMPTS = 5  # to make a folder that no other process takes for one left behind
LONGEST_BASE = 44  # bytes: the path of a socket has 107, that below the base up to 63


class MpsError(Exception):
    """The daemon cannot run; the message gives the reason in one line."""


def environment(*, mps: bool) -> dict[str, str]:
    """Returns the variables that make a program run under the daemon of this process, or without
    MPS."""
    return {VARIABLE: str(pipe_folder()) if mps else NOWHERE}


def pipe_folder() -> Path:
    """Returns the folder of the pipes of this process's daemon. UserError as of
    `_private_folder`."""
    return _private_folder() / PIPES


@functools.cache
def _private_folder() -> Path:
    """Creates a folder for the user only, which is removed when this process ends. Removes those of
    killed processes first. UserError if others could exchange it in every base folder."""
    bases = [
        Path(name)
        for name in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp")
        if name
    ]
    for base in bases:
        if len(os.fsencode(base)) > LONGEST_BASE or not os.access(base, os.W_OK):
            continue
        if any(risks(base / PREFIX)):
            continue
        _remove_left(base)
        folder = _new_folder(base)
        if folder is None:
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    raise UserError(
        f"there is no safe folder for the pipes of {MPS_CONTROL}: have XDG_RUNTIME_DIR or TMPDIR "
        f"name one of at most {LONGEST_BASE} characters that you alone can write"
    )


def _new_folder(base: Path) -> Path | None:
    """Creates a private folder and locks it. None if none can be created, or if other processes
    take each of them for one left behind. If files cannot be locked it has no lock, and so nobody
    takes it for that."""
    for _ in range(_ATTEMPTS):
        try:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        except OSError:
            return None
        try:
            (folder / LOCK).touch(0o600)
            if _locked(folder) is not None and (folder / LOCK).exists():
                return folder
        except FileNotFoundError:
            continue  # another process removes it
        except OSError:
            (folder / LOCK).unlink(missing_ok=True)
            return folder
    return None


def _locked(folder: Path) -> int | None:
    """Locks a private folder for this process and returns the lock; None if another process has it.
    OSError if there is no lock, or nothing can be locked."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:
        os.close(lock)
        raise
    return lock


def _remove_left(base: Path) -> None:
    """Removes the folders of this user's killed processes. A daemon may have outlived its process,
    and is asked to quit. If nothing can be locked, no folder is removed: its process may be
    alive."""
    for folder in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            mine = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
            if not mine or (lock := _locked(folder)) is None:
                continue
            if program := shutil.which(MPS_CONTROL):
                _quit(program, {**os.environ, VARIABLE: str(folder / PIPES)})
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


@contextlib.contextmanager
def daemon() -> Iterator[None]:
    """Runs the daemon in a `with` block, and always stops it. MpsError if it does not start."""
    program = shutil.which(MPS_CONTROL)
    if program is None:
        raise MpsError(f"{MPS_CONTROL} was not found on PATH: leave out the paths with mps")
    folder = pipe_folder()
    env = {**os.environ, **environment(mps=True), "CUDA_MPS_LOG_DIRECTORY": str(folder)}
    folder.mkdir(mode=0o700)
    try:
        with (folder / "said").open("wb") as output:
            process = subprocess.Popen(
                [program, "-f"],  # in the foreground: it stays ours to end
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        try:
            _await(process, folder)
            yield
        finally:
            _end(process, program, env)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _await(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Waits until the daemon's pipe is there."""
    deadline = time.monotonic() + START_SECONDS
    while not (folder / "control").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise MpsError(f"{MPS_CONTROL} did not start: {last_words(folder / 'said')}")
        time.sleep(0.02)


def _end(process: subprocess.Popen[bytes], program: str, env: dict[str, str]) -> None:
    """Asks the daemon to quit, and kills it when it does not."""
    _quit(program, env)
    try:
        process.wait(QUIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _quit(program: str, env: dict[str, str]) -> None:
    """Asks the daemon of this environment to quit, which ends its server too."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [program],
            env=env,
            input=b"quit -t 5\n",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=QUIT_SECONDS,
            check=False,
        )
