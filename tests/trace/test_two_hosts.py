# SPDX-License-Identifier: Apache-2.0
"""Traces over two hosts (network namespaces), which share the folder of the counts or do not."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mpi_launches import LIMIT

from nearpeak.errors import UserError
from nearpeak.libraries import catalogue
from nearpeak.libraries.build import build_trace
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Library, Rank
from nearpeak.libraries.preload import PASSED_ON
from nearpeak.trace.trace import Trace

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))


@pytest.fixture(params=["openmpi", "mpich"])
def library(request: pytest.FixtureRequest) -> Library:
    """Each library in turn, installed if need be, with what is preloaded."""
    try:
        catalogue.add(request.param)
        found = resolve(request.param)
        build_trace(found)
    except UserError as error:
        pytest.skip(f"{request.param} is not there: {error}")
    return found


def traced(
    hosts: Any, library: Library, program: str, folder: Path, *, by_option: bool = False
) -> tuple[Any, Trace | None]:
    """The messages of known.c from each host to the other, traced from the first one. `by_option`:
    Open MPI's launcher is told by -x what to pass on, in the other way else."""
    shell = folder / "remote-shell"  # as ssh, it passes nothing on by itself
    shell.write_text(
        f'#!/bin/sh\nexec env -u LD_PRELOAD -u NEARPEAK_TRACE {hosts.remote_shell} "$@"\n'
    )
    shell.chmod(0o755)
    file, temporary = folder / "trace.json", folder / "temporary"
    temporary.mkdir(exist_ok=True)
    ranks = [Rank(cpus=[0], host=name) for name in hosts.names]
    launch = Launch(program=[program, "next"], ranks=ranks, remote_shell=str(shell))
    line = command_line(library, launch)
    argv, env = list(line.argv), dict(line.env)
    while not by_option and "-x" in argv:
        place = argv.index("-x")
        _, name = argv[place : place + 2]
        del argv[place : place + 2]
        env[PASSED_ON] = f"{env[PASSED_ON]};{name}" if PASSED_ON in env else name
    done = hosts.run(
        [NEARPEAK, "trace", "-o", str(file), "--", *argv],
        env={**os.environ, **env, "TMPDIR": str(temporary)},
        timeout=LIMIT,
    )
    trace = msgspec.json.decode(file.read_bytes(), type=Trace) if file.exists() else None
    return done, trace


def test_ranks_of_other_hosts_are_known(
    two_hosts: Any, library: Library, known: Callable[..., str], tmp_path: Path
) -> None:
    done, trace = traced(two_hosts, library, known(library), tmp_path)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert trace is not None
    assert [rank.host for rank in trace.ranks] == list(two_hosts.names)
    [sent] = [entry for entry in trace.entries if entry.operation == "MPI_Sendrecv"]
    assert (sent.peer, sent.calls, sent.bytes) == ("other host", 2, 16)
    assert trace.missing == []
    assert "2 ranks on 2 hosts" in done.stdout


def test_a_host_without_the_folder_is_told(
    two_hosts: Any, library: Library, known: Callable[..., str], tmp_path: Path
) -> None:
    """The application ends as it would, and what is missing is said."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    mounted = two_hosts.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], host=1)
    assert mounted.returncode == 0, mounted.stderr
    try:
        done, trace = traced(two_hosts, library, known(library), tmp_path)
    finally:
        two_hosts.run(["umount", "-l", str(folder)], host=1)
    assert done.returncode == 0, (done.stdout, done.stderr)
    there, missing = two_hosts.names
    assert trace is not None
    assert [rank.host for rank in trace.ranks] == [there]
    assert trace.missing == [1]
    [sent] = [entry for entry in trace.entries if entry.operation == "MPI_Sendrecv"]
    assert (sent.peer, sent.calls) == ("unknown", 1)
    assert f"ranks on {missing} are not counted: cannot make {folder}" in done.stderr
    assert "set TMPDIR to a folder that all hosts share" in done.stderr
    told = " ".join(done.stdout.split())
    assert f"No counts of rank 1 of 2: all that is shown is of ranks on {there}." in told


def test_a_launcher_that_is_told_of_other_variables(
    two_hosts: Any, known: Callable[..., str], tmp_path: Path
) -> None:
    """Open MPI's takes variables by -x or by a setting, and refuses both together."""
    try:
        found = resolve("openmpi")
        build_trace(found)
    except UserError as error:
        pytest.skip(f"openmpi is not there: {error}")
    done, trace = traced(two_hosts, found, known(found), tmp_path, by_option=True)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert trace is not None
    assert trace.missing == [1]
    assert "add `-x LD_PRELOAD -x NEARPEAK_TRACE`" in " ".join(done.stdout.split())
