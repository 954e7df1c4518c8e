# SPDX-License-Identifier: Apache-2.0
"""Asks a shared library for its version: MPI_Get_library_version, in a separate process.

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
from nearpeak.terms.logs import last_line

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
    """The library could not be loaded or asked; the message gives the reason in one line."""


def may_ask(file: Path, owners: Collection[int], discovery: Discovery) -> bool:
    """True if a discovered library or launcher may be loaded or started to ask for its version:
    only the user, root and these `owners` can exchange it.

    Otherwise the reason is added to the problems of `discovery`. A group that can exchange it is
    only noted, as sites install their software by a group.
    """
    for risk in risks(file, owners):
        if risk.by != "group":
            discovery.problems.append(
                f"{file}: not loaded, as others can exchange it: {risk.why}; name it with --mpi if "
                f"you trust it ({PAGE})"
            )
            return False
        note = f"{risk.why}, and can exchange the libraries in it"
        if note not in discovery.notes:
            discovery.notes.append(note)
    return True


def version_text(libmpi: Path, env: dict[str, str]) -> str:
    """The complete version text of `libmpi`, loaded with `env` added to the environment."""
    return ask(libmpi, CHILD, env)


def ask(file: Path, question: str, env: dict[str, str], limit_seconds: float | None = None) -> str:
    """The output of Python code that has the shared library in `file` as `library`.

    `limit_seconds`: for its answer; None: LIMIT_SECONDS. CannotIdentify where it fails.
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
        raise CannotIdentify(last_line(done.stderr, f"exit status {done.returncode}"))
    return done.stdout.decode(errors="replace")
