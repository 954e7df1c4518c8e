# SPDX-License-Identifier: Apache-2.0
"""The programs that start ranks: one file each, with `arguments(library, job) -> list[str]`.

Every launcher is told to bind nothing, and each rank starts through taskset, which binds it to
exactly its logical CPUs: the launchers' own words for binding differ in what they number, cannot
bind ranks of one number on two hosts differently, and are not faster (measured: the same).
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from nearpeak.libraries.model import Library


@dataclass(frozen=True)
class Group:
    """Ranks in a row that run on one host, bound to the same logical CPUs."""

    count: int
    cpus: list[int]
    host: str | None  # None on every group: the launcher's own choice, this host


@dataclass(frozen=True)
class Job:
    """What a launcher is to start."""

    groups: list[Group]
    program: list[str]
    flags: list[str]
    env: list[str]  # names of the variables that every rank must get
    remote_shell: str | None

    def ranks_on(self, host: str | None) -> int:
        """How many ranks run on a host."""
        return sum(group.count for group in self.groups if group.host == host)


def bound(group: Group, program: list[str]) -> list[str]:
    """The program bound to the group's CPUs; without any, as it is."""
    if not group.cpus:
        return program
    return ["taskset", "-c", ",".join(map(str, group.cpus)), *program]


def arguments(launcher: str, library: Library, job: Job) -> list[str]:
    """The whole command line of a job, by the launcher of that name."""
    module = importlib.import_module(f"{__name__}.{launcher}")
    make: Callable[[Library, Job], list[str]] = module.arguments
    return make(library, job)
