# SPDX-License-Identifier: Apache-2.0
"""A daemon of NVIDIA's MPS of our own, for launches whose ranks share one GPU through it.

It has a private folder for its pipes, so that no other program comes to use it, and lives as long
as the launch. All other launches on GPUs look for a daemon in the same folder and find none, so
that they do not go through somebody else's. (NVIDIA, "Multi-Process Service", on
CUDA_MPS_PIPE_DIRECTORY and the commands.)
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nearpeak.launching.process import end_with_parent
from nearpeak.machine.gpus.nvidia import MPS_CONTROL
from nearpeak.terms.logs import last_words

START_SECONDS = 10.0
QUIT_SECONDS = 20.0


class MpsError(Exception):
    """The daemon cannot be had: one line that says why."""


def pipe_folder(study: str) -> Path:
    """Where the daemon of a study has its pipes: short, as the path of a socket must be."""
    return Path(tempfile.gettempdir()) / f"nearpeak-mps-{study[:8]}"


def environment(study: str) -> dict[str, str]:
    """What makes a program run under the study's daemon, or, while there is none, without MPS."""
    return {"CUDA_MPS_PIPE_DIRECTORY": str(pipe_folder(study))}


@contextlib.contextmanager
def daemon(study: str) -> Iterator[None]:
    """Runs the daemon, and ends it whatever happens. MpsError when it does not start."""
    folder = pipe_folder(study)
    env = {**os.environ, **environment(study), "CUDA_MPS_LOG_DIRECTORY": str(folder)}
    program = shutil.which(MPS_CONTROL)
    if program is None:
        raise MpsError(f"{MPS_CONTROL} was not found on PATH: leave out the paths with mps")
    if folder.exists():  # of a study that was killed: the daemon may have outlived it
        _quit(program, env)
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    try:
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [program, "-f"],  # in the foreground: it stays ours to end
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=said,
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
