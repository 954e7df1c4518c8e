# SPDX-License-Identifier: Apache-2.0
"""Runs a command with the library that counts its MPI calls, and gathers what the ranks left."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nearpeak
from nearpeak.errors import UserError
from nearpeak.libraries.build import build_trace
from nearpeak.libraries.model import Library
from nearpeak.trace.model import SCHEMA, Trace
from nearpeak.trace.read import Left, Unreadable, merge, read

EVERYWHERE = "everywhere"  # a file: ranks of other hosts have the library too


def run(command: Sequence[str], library: Library) -> Trace:
    """Runs it in the foreground, to its end. UserError where it cannot be started, or no process
    of it called MPI."""
    preload = build_trace(library)
    folder = Path(tempfile.mkdtemp(prefix="nearpeak-trace-"))
    try:
        # Open MPI's launcher gives ranks of other hosts what it is told to alone.
        if library.abi != "openmpi" or any("LD_PRELOAD" in word for word in command):
            (folder / EVERYWHERE).touch()
        status = _start(command, preload, folder)
        left = list(_gather(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not left:
        raise UserError(
            f"no process of `{' '.join(command)}` called MPI_Init of {library.name} (exit status "
            f"{status}): see what it said, and name the library that it uses with --mpi"
        )
    return Trace(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        command=list(command),
        library=f"{library.name} {library.version}",
        exit_status=status,
        expected=max(one.ranks for one in left),
        ranks=sorted((one.rank for one in left), key=lambda one: (one.rank, one.process)),
        entries=merge(left),
    )


def _start(command: Sequence[str], preload: Path, folder: Path) -> int:
    """The exit status of a command, as a shell would say it."""
    before = os.environ.get("LD_PRELOAD", "")
    env = {
        **os.environ,
        "LD_PRELOAD": f"{preload}:{before}" if before else str(preload),
        "NEARPEAK_TRACE": str(folder),
    }
    try:
        process = subprocess.Popen(command, env=env)
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from None
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:
            continue  # the terminal told the command too: what it leaves is shown
    return code if code >= 0 else 128 - code


def _gather(folder: Path) -> list[Left]:
    found = []
    for file in sorted(folder.glob("*.trace")):
        try:
            found.append(read(file))
        except Unreadable:
            continue  # it ended in MPI_Init: fewer ranks than expected are told of
    return found
