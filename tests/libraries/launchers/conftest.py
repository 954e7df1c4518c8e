# SPDX-License-Identifier: Apache-2.0
"""Launches by stand-ins for launchers of jobs (flux_stand_in.py, pals_stand_in.py)."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from made_libraries import made_library

from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import CommandLine, Launch, Rank

SAYS = 'echo "$STAND_IN_HOST $(sed -n "s/Cpus_allowed_list:\\t//p" /proc/self/status)"'


@pytest.fixture
def stand_in() -> Callable[[str, Path], Path]:
    """Puts a stand-in where it is to be found."""

    def put(name: str, place: Path) -> Path:
        script = Path(__file__).parent / name
        place.parent.mkdir(parents=True)
        place.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{script}' \"$@\"\n")
        place.chmod(0o755)
        return place

    return put


def launch(
    launcher: Path, family: str, hosts: Sequence[str | None], remote_shell: str | None = None
) -> tuple[list[Rank], CommandLine]:
    """Of ranks that are bound to one CPU or another, by turns."""
    cpus = sorted(os.sched_getaffinity(0))
    ranks = [
        Rank(cpus=[cpus[0] if index % 3 else cpus[-1]], host=host)
        for index, host in enumerate(hosts)
    ]
    library = made_library(
        family, family=family, launcher=launcher, libmpi=launcher.parent / "libmpi.so"
    )
    wanted = Launch(program=["sh", "-c", SAYS], ranks=ranks, remote_shell=remote_shell)
    return ranks, command_line(library, wanted)


@pytest.fixture
def words() -> Callable[..., str]:
    """The line of a launch."""
    return lambda *args, **more: " ".join(launch(*args, **more)[1].argv)


def start(line: CommandLine) -> str:
    env = {**os.environ, **line.env}
    return subprocess.run(line.argv, env=env, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def said() -> Callable[..., str]:
    """What a launch prints."""
    return lambda *args: start(launch(*args)[1])


@pytest.fixture
def placed() -> Callable[..., tuple[list[tuple[str, ...]], list[tuple[str, ...]]]]:
    """Where the ranks of a launch were to run, and where they ran: hosts and CPUs, by rank."""

    def run(*args: object) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        ranks, line = launch(*args)  # type: ignore[arg-type]
        told = [text for text in start(line).splitlines() if not text.startswith("shell options")]
        wanted = [(rank.host or "", str(rank.cpus[0])) for rank in ranks]
        return wanted, [tuple(text.split()) for text in told]

    return run
