# SPDX-License-Identifier: Apache-2.0
"""What a shared library says of itself: MPI_Get_library_version, called in a process of its own.

The call needs no MPI_Init, no header and no compiler, and has the same shape in every ABI. A
library that crashes or hangs when it is loaded takes only that process with it.
"""

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from nearpeak.libraries.library import Discovery
from nearpeak.owners import PAGE, risks

LIMIT_SECONDS = 20.0

LOAD = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
"""
CHILD = """
text = ctypes.create_string_buffer(16384)  # more than any MPI_MAX_LIBRARY_VERSION_STRING
length = ctypes.c_int()
if library.MPI_Get_library_version(text, ctypes.byref(length)):
    sys.exit("MPI_Get_library_version failed")
sys.stdout.buffer.write(text.value)
"""


class CannotIdentify(Exception):
    """The library could not be loaded or asked; the message says why, in one line."""


def may_ask(file: Path, owners: Collection[int], found: Discovery) -> bool:
    """Tell whether a library or launcher that was merely found may be loaded or started to ask for
    its version: nobody can exchange it but the user, root and these `owners`.

    Why not is added to the problems of what was found. A group that can exchange it is no reason,
    as sites have their software written by one: it is noted.
    """
    for risk in risks(file, owners):
        if risk.by != "group":
            found.problems.append(
                f"{file}: not loaded, as others can exchange it: {risk.why}; name it with --mpi if "
                f"you trust it ({PAGE})"
            )
            return False
        note = f"{risk.why}, and can exchange the libraries in it"
        if note not in found.notes:
            found.notes.append(note)
    return True


def version_text(libmpi: Path, env: dict[str, str]) -> str:
    """The whole version text of `libmpi`, loaded with `env` added to the environment."""
    return ask(libmpi, CHILD, env)


def ask(file: Path, question: str, env: dict[str, str], limit_seconds: float | None = None) -> str:
    """What Python code prints that has the shared library in `file` as `library`.

    `limit_seconds`: for its answer; None: LIMIT_SECONDS.
    """
    limit = LIMIT_SECONDS if limit_seconds is None else limit_seconds
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", LOAD + question, str(file)],
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotIdentify(f"no answer within {limit:.0f} s") from error
    if done.returncode < 0:
        raise CannotIdentify(f"it ended with signal {-done.returncode} when it was loaded")
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CannotIdentify(said[-1] if said else f"exit status {done.returncode}")
    return done.stdout.decode(errors="replace")
