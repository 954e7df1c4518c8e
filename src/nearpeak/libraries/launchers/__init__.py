# SPDX-License-Identifier: Apache-2.0
"""The programs that start ranks: one file each, with `arguments(library, job) -> list[str]`, what
they may be called (`PROGRAMS`: names and patterns, the likeliest first), and the variables by which
they tell a process its rank (`RANK`) and that among the ranks of its host (`LOCAL_RANK`), which
bench/options/launched.* knows too.

Those of workload managers, which start the ranks of many libraries, but in a job alone, are called
`PROGRAM` in the place of `PROGRAMS`, and also have `in_job()`, in words where that is (`JOB`), and
`is_it(file)` where other programs have that name too.

Every launcher is told to bind nothing, and each rank starts through taskset, which binds it to
exactly its logical CPUs: the launchers' own words for binding differ in what they number, and
cannot bind ranks of one number on two hosts differently.

The program stands once in the line, however many ranks there are: each finds its CPUs by its rank.
"""

import functools
import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType

from nearpeak.errors import UserError
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


def modules() -> list[ModuleType]:
    """Those of all launchers, by name."""
    return [_module(name) for name in sorted(names())]


@functools.cache
def of_libraries() -> list[str]:
    """What the launchers that libraries bring may be called: names and patterns, the likeliest
    first."""
    own = [module for module in modules() if not hasattr(module, "JOB")]
    return list(dict.fromkeys(name for module in own for name in module.PROGRAMS))


@functools.cache
def programs() -> set[str]:
    """What launchers are called, those of jobs too: names alone."""
    named = {name for name in of_libraries() if "*" not in name}
    return named | {module.PROGRAM for _, module in _of_jobs()}


def of_job(program: Path) -> str | None:
    """Which launcher of jobs a program is; None: of none, so it is a library's own."""
    return next((name for name, module in _of_jobs() if _is_it(module, program)), None)


def on_path(likeliest: str) -> Iterator[tuple[str, Path]]:
    """The launchers of jobs on PATH, those first in whose job this process runs, then the
    likeliest."""

    def rank(found: tuple[str, ModuleType]) -> tuple[bool, bool]:
        name, module = found
        return not module.in_job(), name != likeliest

    for name, module in sorted(_of_jobs(), key=rank):
        for folder in os.environ.get("PATH", "").split(":"):
            program = Path(folder) / module.PROGRAM
            if folder and _is_it(module, program) and os.access(program, os.X_OK):
                yield name, program
                break


def in_job(launcher: str) -> bool:
    """Whether this process is in a job in which that launcher of jobs starts ranks."""
    return bool(_module(launcher).in_job())


def in_job_alone(launcher: str) -> str:
    """Where that launcher of jobs starts ranks: the end of a sentence, with what to do."""
    return f"in {_module(launcher).JOB}"


def check(launcher: str, library: Library) -> None:
    """UserError where the launcher of that name cannot start the library's ranks here."""
    if launcher in dict(_of_jobs()) and not in_job(launcher):
        program = _module(launcher).PROGRAM
        raise UserError(f"{program} starts {library.name} {in_job_alone(launcher)}")


def arguments(launcher: str, library: Library, job: Job) -> list[str]:
    """The whole command line of a job, by the launcher of that name; UserError as `check`, and
    where a launcher of jobs is given a remote shell."""
    check(launcher, library)
    module = _module(launcher)
    if job.remote_shell and hasattr(module, "JOB"):
        raise UserError(f"{module.PROGRAM} takes no remote shell: leave --remote-shell out")
    make: Callable[[Library, Job], list[str]] = module.arguments
    return make(library, job)


def _module(launcher: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{launcher}")


def _of_jobs() -> list[tuple[str, ModuleType]]:
    return [(each.__name__.rpartition(".")[2], each) for each in modules() if hasattr(each, "JOB")]


def _is_it(module: ModuleType, program: Path) -> bool:
    alike = program.name == module.PROGRAM
    return alike and (not hasattr(module, "is_it") or bool(module.is_it(program)))
