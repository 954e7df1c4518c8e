# SPDX-License-Identifier: Apache-2.0
"""The programs that start ranks: one file each, with `arguments(library, job) -> list[str]`, and
with `check(library)` where it may be that they cannot start any.

Every launcher is told to bind nothing, and each rank starts through taskset, which binds it to
exactly its logical CPUs: the launchers' own words for binding differ in what they number, cannot
bind ranks of one number on two hosts differently, and are not faster (measured: the same).

The program stands once in the line, however many ranks there are: each finds its CPUs by its rank.
"""

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from nearpeak.libraries.library import Library, Rank
from nearpeak.machine.tree import format_list


@dataclass(frozen=True)
class Job:
    """What a launcher is to start."""

    # All have a host or none has: then it is the launcher's own choice, this host. All have CPUs or
    # none has: then none is bound.
    ranks: list[Rank]
    program: list[str]
    flags: list[str]
    env: list[str]  # names of the variables that every rank must get
    remote_shell: str | None

    @property
    def hosts(self) -> list[tuple[str, int]]:
        """Each host with how many ranks in a row run on it; empty: this host alone."""
        named = groupby(rank.host for rank in self.ranks)
        return [(host, len(list(ranks))) for host, ranks in named if host]

    def bound(self, variable: str) -> list[str]:
        """The program, each rank bound to its CPUs. `variable` of its environment has the rank."""
        lists = [format_list(rank.cpus) for rank in self.ranks]
        if not any(lists):
            return self.program
        if not all(lists):
            raise ValueError("CPUs are given for some ranks and not for others")
        period = next(n for n in range(1, len(lists) + 1) if lists[n:] == lists[:-n])
        if period == 1:
            return ["taskset", "-c", lists[0], *self.program]
        script = (
            f"i=$((${{{variable}:?}} % {period})); for cpus in {' '.join(lists[:period])}; do "
            '[ $i = 0 ] && exec taskset -c $cpus "$@"; i=$((i - 1)); done'
        )
        return ["sh", "-c", script, "sh", *self.program]


@functools.cache
def names() -> set[str]:
    """Of the launchers that there are."""
    return {module.name for module in pkgutil.iter_modules(__path__)}


def check(launcher: str, library: Library) -> None:
    """UserError where the launcher of that name cannot start the library's ranks here."""
    module = importlib.import_module(f"{__name__}.{launcher}")
    if hasattr(module, "check"):
        module.check(library)


def arguments(launcher: str, library: Library, job: Job) -> list[str]:
    """The whole command line of a job, by the launcher of that name; UserError as `check`."""
    check(launcher, library)
    module = importlib.import_module(f"{__name__}.{launcher}")
    make: Callable[[Library, Job], list[str]] = module.arguments
    return make(library, job)
