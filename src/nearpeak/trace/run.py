# SPDX-License-Identifier: Apache-2.0
"""Runs a command with the library that counts its MPI calls, and gathers the ranks' files."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import nearpeak
from nearpeak.clock import now
from nearpeak.errors import UserError
from nearpeak.libraries.build import build_trace
from nearpeak.libraries.library import Library
from nearpeak.libraries.preload import environment as preload_environment
from nearpeak.signals import handled
from nearpeak.trace.read import RankTrace, Unreadable, merge, read
from nearpeak.trace.trace import SCHEMA, Trace

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # after which the trace so far is shown


class CommandFailed(Exception):
    """The command failed before it had called MPI; the message is a line for the user."""


class Interrupted(Exception):
    """The signal `number` came before any process had called MPI."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(command: Sequence[str], library: Library) -> tuple[Trace, int | None]:
    """Runs it in the foreground to its end; returns its trace, and the signal that came before, if
    any. UserError where it cannot be started, or no process of it called MPI: CommandFailed if it
    did not end well either, Interrupted after a signal."""
    if library.layer:
        raise UserError(
            f"{library.name}: calls are counted without the layer, which is loaded in the same way:"
            " leave out +layer"
        )
    preload = build_trace(library)
    folder = Path(tempfile.mkdtemp(prefix="nearpeak-trace-"))
    started = now()
    try:
        status, signalled = run_in_foreground(
            command, environment(command, library, preload, folder)
        )
        traces = list(_gather(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not traces and signalled is not None:
        raise Interrupted(signalled)
    if not traces and status:
        raise CommandFailed(
            f"the command ended with exit status {status} before any process of it had come out of "
            f"MPI_Init of {library.name}: see what it said; if it uses another library, name that "
            "with --mpi"
        )
    if not traces:
        raise UserError(
            f"no process of `{' '.join(command)}` called MPI_Init of {library.name}: see what "
            "it said, and name the library that it uses with --mpi"
        )
    expected = max(part.rank.world for part in traces)
    present = {part.rank.rank for part in traces if part.rank.world == expected}
    trace = Trace(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        command=list(command),
        library=f"{library.name} {library.version}",
        started=started,
        exit_status=status,
        expected=expected,
        missing=[rank for rank in range(expected) if rank not in present],
        wall_seconds=max(part.rank.run_seconds for part in traces),
        ranks=sorted((part.rank for part in traces), key=lambda rank: (rank.rank, rank.process)),
        entries=merge(traces),
    )
    return trace, signalled


def environment(
    command: Sequence[str], library: Library, preload: Path, folder: Path
) -> dict[str, str]:
    """The command's environment: the ranks load `preload`, which writes into `folder`."""
    variables = {"NEARPEAK_TRACE": str(folder)}
    return {**os.environ, **preload_environment(library, preload, variables, command)}


def run_in_foreground(command: Sequence[str], env: dict[str, str]) -> tuple[int, int | None]:
    """Runs a command to its end, and passes it the signals that come. Returns its exit status, as
    a shell reports it, and the first signal. UserError where it cannot be started."""
    got: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    def take(number: int, _: FrameType | None) -> None:
        got.append(number)
        pass_on(number)

    def pass_on(number: int) -> None:
        if number != signal.SIGINT:  # which a terminal sends to the command too
            for process in started:
                process.send_signal(number)

    taken = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    with handled(taken, take):  # before the command runs, which may end us at once
        try:
            process = subprocess.Popen(command, env=env)
        except OSError as error:
            raise UserError(f"{command[0]} cannot be started: {error.strerror}") from None
        early = list(got)
        started.append(process)
        for number in early:
            pass_on(number)
        code = process.wait()
    return code if code >= 0 else 128 - code, got[0] if got else None


def _gather(folder: Path) -> list[RankTrace]:
    traces = []
    for file in sorted(folder.glob("*.trace")):
        try:
            traces.append(read(file))
        except Unreadable:
            continue  # it ended in MPI_Init: fewer ranks than expected are reported
    return traces
