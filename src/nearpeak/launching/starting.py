# SPDX-License-Identifier: Apache-2.0
"""Chooses the launcher that starts the ranks of a library in a job, by a short launch with each.

Nothing else shows how a library was built and what a site's Slurm has.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.launching.command_lines import Tools
from nearpeak.launching.paths import between_ranks
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
from nearpeak.numbers import in_brackets, listed
from nearpeak.terms.logs import NOTHING_SAID, crash_words, last_words
from nearpeak.terms.path import DataPath
from nearpeak.watch.watched import temporary_folder

TRIAL_SECONDS = 20.0  # for a rank on each host to start and to exchange a message
MOST_NAMED = 4  # hosts
TRIAL = ["--sizes", "8", "--slot-ms", "1"]


class Started(NamedTuple):
    """A library with the launcher of its ranks, and the machine that this lets them use."""

    library: Library
    machine: Machine  # with only the CPUs that ranks may use on every host: paths are chosen on it


class DoesNotStart(Exception):
    """A launcher did not start the ranks as it should; the message says why."""


class _EndedSilently(DoesNotStart):
    """The ranks ended without a message."""


def starting_here(
    library: Library,
    machine: Machine,
    places: Collection[Sequence[str]],
    remote_shell: str | None,
    tools: Tools,
    say: Callable[[str], None],
) -> Started:
    """Returns the library with a launcher that starts its ranks in all of these places, and reports
    it by `say`. `places`: the hosts of each, none for only this one. Outside of a job, and with a
    remote shell, library and machine are returned unmodified.

    UserError if no launcher starts them.
    """
    job = allocation.current()
    if job is None or not job.nodes or is_native(library) or remote_shell:
        return Started(library, machine)
    failed: list[str] = []
    for candidate in _candidates(library):
        name = _label(candidate)
        try:
            cpus = [_try_again(candidate, hosts, tools) for hosts in places]
        except DoesNotStart as error:
            failed.append(f"{name}: {error}")
            continue
        failures = in_brackets("; ".join(failed))
        place = _joined(max(places, key=len)) or str(job.here)
        say(f"{library.name} is started by {name} on {place} of job {job.job}{failures}")
        return Started(candidate, _as_lent(machine, frozenset[int].intersection(*cpus)))
    raise UserError(
        f"nothing starts {library.name} in {job}: {'; '.join(failed) or 'there is no launcher'}; "
        "docs/how-to/batch-systems.md has what works"
    )


def places_of(paths: Iterable[DataPath], hosts: Sequence[str]) -> list[Sequence[str]]:
    """Returns the places of ranks on these paths: all hosts, only this one, or both."""
    apart = {path.between_hosts for path in between_ranks(paths)}
    return [hosts if between else [] for between in sorted(apart)]


def _as_lent(machine: Machine, cpus: Collection[int]) -> Machine:
    """Returns the machine with only those of its CPUs that a launcher lets ranks use."""
    lent = [cpu for cpu in machine.allowed_cpus if cpu in cpus]
    return msgspec.structs.replace(machine, allowed_cpus=lent)


def _candidates(library: Library) -> Iterator[Library]:
    """Yields the library with each launcher that may start it: its own first, then those of the
    job. srun comes with each PMI that both the library's family and this Slurm know."""
    if launchers.of_job(library.launcher) is None:
        yield library
    in_job = (
        (name, program) for name, program in launchers.on_path(SRUN) if launchers.in_job(name)
    )
    for name, program in in_job:
        offered = srun.offered(program) if name == SRUN else []
        pmis = [pmi for pmi in all_families()[library.family].pmi if pmi in offered]
        for pmi in pmis or [""]:
            yield msgspec.structs.replace(library, launcher=program, pmi=pmi)


def _label(library: Library) -> str:
    name = library.launcher.name
    return f"{name} --mpi={library.pmi}" if library.pmi else name


def _try_again(library: Library, hosts: Sequence[str], tools: Tools) -> frozenset[int]:
    """Calls `_try`, and once more if its ranks ended without a message, as a step of Slurm with
    PMIx did."""
    with contextlib.suppress(_EndedSilently):
        return _try(library, hosts, tools)
    return _try(library, hosts, tools)


def _try(library: Library, hosts: Sequence[str], tools: Tools) -> frozenset[int]:
    """Starts an unbound rank on each host, or two on this one. Returns the CPUs that all of them
    may use. DoesNotStart."""
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
            kind = {NOTHING_SAID: _EndedSilently}.get(last_words(log), DoesNotStart)
            raise kind(crash_words(ended.exit_status, log))
        records = [record for record in written(jsonl) if isinstance(record, EnvironmentRecord)]
    reported = records[0].ranks if records else []
    if len(reported) != len(ranks):
        raise DoesNotStart(NO_PLACE)
    ran_on = {str(rank["host"]) for rank in reported}
    if len(ran_on) != max(1, len(hosts)):
        every = "both ranks" if len(ranks) == 2 else f"the {len(ranks)} ranks"
        raise DoesNotStart(f"{every} ran on host {_joined(sorted(ran_on))}")
    return frozenset[int].intersection(*(frozenset(rank["cpus"]) for rank in reported))


def _benchmark(library: Library, tools: Tools, ranks: int) -> str:
    """Returns the first benchmark that a study measures between this number of ranks."""
    described = describe_library(library, tools).benchmarks
    return next(
        benchmark.name
        for benchmark in described
        if benchmark.default and benchmark.ranks.fits(ranks)
    )


def _joined(hosts: Sequence[str]) -> str:
    """`a and b`; of many the first and the last."""
    if len(hosts) > MOST_NAMED:
        return f"{len(hosts)} hosts, {hosts[0]} to {hosts[-1]},"
    return listed(hosts)
