# SPDX-License-Identifier: Apache-2.0
"""The programs that start ranks: one file each.

A file has `arguments(library, job) -> list[str]`, the names of the program (`PROGRAMS`: names and
patterns, the likeliest first), and the variables that hold a process's rank (`RANK`) and its rank
on its host (`LOCAL_RANK`), which bench/options/launched.* reads too.

Launchers of workload managers start the ranks of many libraries, but only in a job. They have
`PROGRAM` instead of `PROGRAMS`, `in_job()`, a text that describes such a job (`JOB`), and
`is_it(file)` where other programs have the same name.

Every launcher binds nothing, and each rank starts through taskset, which binds it to exactly its
logical CPUs: the binding options of launchers differ in what they number, and cannot bind ranks of
one number on two hosts differently.

The program stands once in the line for all ranks: each finds its CPUs by its rank.
"""

import functools
import importlib
import itertools
import os
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType

from nearpeak.errors import UserError
from nearpeak.folders import searched
from nearpeak.libraries.library import Library, Rank
from nearpeak.machine.tree import format_list


@dataclass(frozen=True)
class Job:
    """The ranks and the program that a launcher starts."""

    # All ranks have a host, or none: then the launcher chooses this host. All have CPUs, or none:
    # then none is bound.
    ranks: list[Rank]
    program: list[str]
    flags: list[str]
    env: list[str]  # names of the variables that every rank must get
    remote_shell: str | None

    @property
    def hosts(self) -> list[tuple[str, int]]:
        """Each host with its number of consecutive ranks; empty: this host only."""
        named = groupby(rank.host for rank in self.ranks)
        return [(host, len(list(ranks))) for host, ranks in named if host]

    def bound(self, variable: str) -> list[str]:
        """The program, each rank bound to its CPUs. The environment's `variable` holds the rank."""
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
    """The names of all launchers."""
    return {module.name for module in pkgutil.iter_modules(__path__)}


def modules() -> list[ModuleType]:
    """The modules of all launchers, by name."""
    return [_module(name) for name in sorted(names())]


@functools.cache
def of_libraries() -> list[str]:
    """The programs of libraries' launchers: names and patterns, the likeliest first."""
    launchers = [module for module in modules() if not hasattr(module, "JOB")]
    return list(dict.fromkeys(name for module in launchers for name in module.PROGRAMS))


@functools.cache
def programs() -> set[str]:
    """The names, without patterns, of all launchers' programs, those of jobs included."""
    named = {name for name in of_libraries() if "*" not in name}
    return named | {module.PROGRAM for _, module in _of_jobs()}


def of_job(program: Path) -> str | None:
    """The job launcher that a program is; None: none, so that it is a library's launcher."""
    return next((name for name, module in _of_jobs() if _is_it(module, program)), None)


def on_path(likeliest: str) -> Iterator[tuple[str, Path]]:
    """The job launchers on PATH: first those in whose job this process runs, then the likeliest."""

    def rank(candidate: tuple[str, ModuleType]) -> tuple[bool, bool]:
        name, module = candidate
        return not module.in_job(), name != likeliest

    for name, module in sorted(_of_jobs(), key=rank):
        programs = (folder / module.PROGRAM for folder in searched("PATH"))
        usable = (p for p in programs if _is_it(module, p) and os.access(p, os.X_OK))
        yield from ((name, program) for program in itertools.islice(usable, 1))


def in_job(launcher: str) -> bool:
    """True if this process is in a job in which that job launcher starts ranks."""
    return bool(_module(launcher).in_job())


def job_clause(launcher: str) -> str:
    """The end of a sentence that names the job in which a job launcher starts ranks."""
    return f"in {_module(launcher).JOB}"


def check(launcher: str, library: Library) -> None:
    """UserError where the launcher of that name cannot start the library's ranks here."""
    if launcher in dict(_of_jobs()) and not in_job(launcher):
        program = _module(launcher).PROGRAM
        raise UserError(f"{program} starts {library.name} {job_clause(launcher)}")


def arguments(launcher: str, library: Library, job: Job) -> list[str]:
    """The complete command line of a job, by the launcher of that name.

    UserError as `check`, and where a job launcher is given a remote shell.
    """
    check(launcher, library)
    module = _module(launcher)
    if job.remote_shell and hasattr(module, "JOB"):
        raise UserError(f"{module.PROGRAM} takes no remote shell: leave --remote-shell out")
    make: Callable[[Library, Job], list[str]] = module.arguments
    return make(library, job)


def _module(launcher: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{launcher}")


def _of_jobs() -> list[tuple[str, ModuleType]]:
    of_jobs = [module for module in modules() if hasattr(module, "JOB")]
    return [(module.__name__.rpartition(".")[2], module) for module in of_jobs]


def _is_it(module: ModuleType, program: Path) -> bool:
    alike = program.name == module.PROGRAM
    return alike and (not hasattr(module, "is_it") or bool(module.is_it(program)))
