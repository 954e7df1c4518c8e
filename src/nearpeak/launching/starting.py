# SPDX-License-Identifier: Apache-2.0
"""Which launcher starts the ranks of a library in a job: found by a short launch of each, as what a
library was built with, and what a site's Slurm has, shows in nothing else."""

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.launching.command_lines import Tools
from nearpeak.launching.places import NO_PLACE
from nearpeak.launching.process import run_tree
from nearpeak.launching.program_records import EnvironmentRecord, written
from nearpeak.launching.programs import describe_library
from nearpeak.libraries import launchers
from nearpeak.libraries.discover import SRUN
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.launchers import srun
from nearpeak.libraries.library import Launch, Library, Rank
from nearpeak.machine import allocation
from nearpeak.machine.machine import Machine
from nearpeak.numbers import listed
from nearpeak.terms.logs import NOTHING_SAID, crash_words, last_words
from nearpeak.terms.path import DataPath
from nearpeak.watch.watched import temporary_folder

TRIAL_SECONDS = 20.0  # for a rank on each host to start and to exchange a message
MOST_NAMED = 4  # hosts
TRIAL = ["--sizes", "8", "--slot-ms", "1"]


class Started(NamedTuple):
    """A library with what starts its ranks, and where that lets them run."""

    library: Library
    machine: Machine  # with the CPUs alone that ranks may use on every host: paths are chosen on it


class DoesNotStart(Exception):
    """A launcher did not start the ranks as it should; the message says why."""


class _EndedUntold(DoesNotStart):
    """The ranks ended, and nothing says why."""


def starting_here(
    library: Library,
    machine: Machine,
    places: Collection[Sequence[str]],
    remote_shell: str | None,
    tools: Tools,
    say: Callable[[str], None],
) -> Started:
    """The library with what starts its ranks in all of these places, which is said: the hosts of
    each, none for this one alone. Outside of a job, and with a remote shell, it is as it was, and
    so is the machine.

    UserError where nothing does.
    """
    found = allocation.current()
    if found is None or not found.nodes or is_native(library) or remote_shell:
        return Started(library, machine)
    failed: list[str] = []
    for candidate in _candidates(library):
        name = _words(candidate)
        try:
            cpus = [_try_again(candidate, hosts, tools) for hosts in places]
        except DoesNotStart as error:
            failed.append(f"{name}: {error}")
            continue
        why = f" ({'; '.join(failed)})" if failed else ""
        where = _joined(max(places, key=len)) or str(found.here)
        say(f"{library.name} is started by {name} on {where} of job {found.job}{why}")
        return Started(candidate, _as_lent(machine, frozenset[int].intersection(*cpus)))
    page = "slurm" if found.manager == allocation.SLURM else "schedulers"
    raise UserError(
        f"nothing starts {library.name} in {found}: {'; '.join(failed) or 'there is no launcher'}; "
        f"docs/{page}.md has what works"
    )


def places_of(paths: Iterable[DataPath], hosts: Sequence[str]) -> list[Sequence[str]]:
    """Where ranks run on these paths: on all hosts, on this one alone, or on the one and on the
    other."""
    apart = {path.between_hosts for path in paths if path.transport != "local"}
    return [hosts if between else [] for between in sorted(apart)]


def _as_lent(machine: Machine, cpus: Collection[int]) -> Machine:
    """The machine with those of its CPUs alone that a launcher lets ranks use."""
    lent = [cpu for cpu in machine.allowed_cpus if cpu in cpus]
    return msgspec.structs.replace(machine, allowed_cpus=lent)


def _candidates(library: Library) -> Iterator[Library]:
    """The library with each launcher that may start it: its own first, then those of the job; srun
    by whatever its family knows and this Slurm has."""
    if launchers.of_job(library.launcher) is None:
        yield library
    for name, program in launchers.on_path(SRUN):
        if not launchers.in_job(name):
            continue
        by_job = msgspec.structs.replace(library, launcher=program)
        if name != SRUN:
            yield by_job
            continue
        there = srun.offered(program)
        for pmi in [pmi for pmi in all_families()[library.family].pmi if pmi in there] or [""]:
            yield msgspec.structs.replace(by_job, pmi=pmi)


def _words(library: Library) -> str:
    name = library.launcher.name
    return f"{name} --mpi={library.pmi}" if library.pmi else name


def _try_again(library: Library, hosts: Sequence[str], tools: Tools) -> frozenset[int]:
    """`_try`, and again if its ranks ended and nothing says why, as a step of Slurm's with PMIx was
    seen to."""
    with contextlib.suppress(_EndedUntold):
        return _try(library, hosts, tools)
    return _try(library, hosts, tools)


def _try(library: Library, hosts: Sequence[str], tools: Tools) -> frozenset[int]:
    """Starts a rank on each host, or two on this one, unbound: the CPUs that all of them may use.
    DoesNotStart."""
    ranks = [Rank(cpus=[], host=host) for host in hosts or (None, None)]
    with temporary_folder("nearpeak-start-") as folder:
        jsonl, log = Path(folder) / "records.jsonl", Path(folder) / "log"
        program = [str(tools.mpi_program(library)), _benchmark(library, tools, len(ranks)), *TRIAL]
        program += ["--jsonl", str(jsonl)]
        line = tools.command_line(library, Launch(program=program, ranks=ranks))
        env = {**os.environ, **line.env}
        ended = run_tree(line.argv, env=env, log=log, limit_seconds=TRIAL_SECONDS)
        if ended.end == "not started":
            raise DoesNotStart(ended.reason)
        if ended.end == "hung":
            raise DoesNotStart(f"no ranks within {TRIAL_SECONDS:g} s; {last_words(log)}")
        if ended.exit_status:
            untold = last_words(log) == NOTHING_SAID
            kind = _EndedUntold if untold else DoesNotStart
            raise kind(crash_words(ended.exit_status, log))
        told = next((r for r in written(jsonl) if isinstance(r, EnvironmentRecord)), None)
    if told is None or len(told.ranks) != len(ranks):
        raise DoesNotStart(NO_PLACE)
    there = {str(rank["host"]) for rank in told.ranks}
    if len(there) != len(hosts or [None]):
        every = "both ranks" if len(ranks) == 2 else f"the {len(ranks)} ranks"
        raise DoesNotStart(f"{every} ran on host {_joined(sorted(there))}")
    return frozenset[int].intersection(*(frozenset(rank["cpus"]) for rank in told.ranks))


def _benchmark(library: Library, tools: Tools, ranks: int) -> str:
    """The first that a study measures between so many ranks."""
    described = describe_library(library, tools).benchmarks
    return next(known.name for known in described if known.default and known.ranks.fits(ranks))


def _joined(hosts: Sequence[str]) -> str:
    """`a and b`; of many the first and the last."""
    if len(hosts) > MOST_NAMED:
        return f"{len(hosts)} hosts, {hosts[0]} to {hosts[-1]},"
    return listed(hosts)
