# SPDX-License-Identifier: Apache-2.0
"""One benchmark with one library on one path, outside of a study: the launch of `nearpeak run`."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from nearpeak.errors import UserError
from nearpeak.grouping import present
from nearpeak.launching import mps, paths, programs
from nearpeak.launching.awareness import why_needs_gpu
from nearpeak.launching.command_lines import (
    Seats,
    ceilings_line,
    device_options,
    library_of_ceilings,
    loaded_by_native,
    rank_launch,
)
from nearpeak.launching.names import check_name
from nearpeak.launching.paths import between_gpus
from nearpeak.launching.starting import starting_here
from nearpeak.libraries import discover, settings
from nearpeak.libraries.families import is_ceiling, is_native, mode_of
from nearpeak.libraries.launch import check_launcher
from nearpeak.libraries.library import CommandLine, Contender, Library, Settings
from nearpeak.machine import discover as here
from nearpeak.machine import doctor
from nearpeak.machine.machine import Diagnosis, Machine
from nearpeak.machine.places import Ranks
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.buffers import Ends, parse_buffers
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import split_list
from nearpeak.terms.trials import TrialCase


@dataclass(frozen=True)
class Single:
    """A benchmark with the library and the settings that were chosen, and the place where it
    runs."""

    benchmark: Benchmark
    library: Library
    settings: Settings
    machine: Machine  # with only the CPUs that ranks may use
    diagnoses: list[Diagnosis]  # doctor's, from before the load of builds
    path: DataPath
    ends: Ends  # of the path, one for each rank
    buffers: str
    remote_shell: str | None = None

    @property
    def native(self) -> bool:
        """True if nearpeak-native measures it."""
        return bool(mode_of(self.library)) or is_ceiling(self.library)

    def line(self, options: Sequence[str], env: Mapping[str, str] | None = None) -> CommandLine:
        """Returns the command line of the launch, with more options for the measuring program, and
        variables as of `Settings.changed`."""
        given = self.settings.changed(env or {})
        seats = Seats(self.path, self.ends, self.buffers)
        name = self.benchmark.name
        if mode_of(self.library):
            return loaded_by_native(programs.TOOLS, self.library, seats, [name, *options], given)
        if is_ceiling(self.library):
            return library_of_ceilings(programs.TOOLS, seats, [name], list(options), given)
        program = [str(programs.TOOLS.mpi_program(self.library)), *self.program_options(options)]
        started = rank_launch(program, seats, given, self.remote_shell)
        return programs.TOOLS.command_line(self.library, started)

    def ceilings(self, options: Sequence[str]) -> CommandLine:
        """Returns the command line of the same without MPI, with all methods; UserError between two
        hosts."""
        seats = Seats(self.path, self.ends, self.buffers)
        return ceilings_line(programs.TOOLS, seats, [self.benchmark.name], list(options))

    def program_options(self, options: Sequence[str]) -> list[str]:
        """Returns the options of nearpeak-mpi, with the benchmark and its buffers."""
        devices = device_options(self.ends, self.buffers)
        return [self.benchmark.name, "--buffers", self.buffers, *devices, *options]

    def mps(self) -> AbstractContextManager[None]:
        """Returns the context that the launch needs, under MPS or not; MpsError if it cannot be
        had."""
        return mps.daemon() if self.path.mps else contextlib.nullcontext()


def choose(
    benchmark: str,
    mpi: str | Contender | None,
    command: str,
    *,
    path: str | None = None,
    ranks: int | None = None,
    oversubscribe: bool = False,
    buffers: str = "H,H",
    hosts: str | None = None,
    remote_shell: str | None = None,
    settings_env: Sequence[str] = (),
    say: Callable[[str], None] = lambda _: None,
    check: Callable[[Library, Sequence[Benchmark]], None] = lambda _library, _measured: None,
) -> Single:
    """Chooses what options ask for. `mpi`: SPEC[@SETTINGS], or a contender of a study; `command`:
    its name in a message. `say`: prints what starts the ranks in a job, and where settings are from
    another machine. `check`: raises UserError for other faults of the options, before anything is
    started. UserError."""
    check_name(benchmark)
    if not mpi:
        raise UserError(
            "name a library with --mpi, one of `nearpeak mpi list` or a path, like "
            f"`nearpeak {command} --mpi openmpi`"
        )
    env = _variables(settings_env)
    wanted_ranks = Ranks([*filter(None, [ranks])], oversubscribe)
    wanted_paths = [*filter(None, [path])]
    paths.check_ranks(wanted_ranks, wanted_paths)
    names = paths.check_hosts(split_list(hosts) if hosts else [], remote_shell)
    if isinstance(mpi, Contender):
        library, chosen = mpi.library, mpi.settings
        check_launcher(library)
    else:
        spec, wanted = settings.split(mpi)
        library = discover.resolve(spec)
        check_launcher(library)
        chosen = settings.find(library, wanted or "default", say)
    machine = here.discover()
    here_ranks = -(-(ranks or 2) // max(1, len(names)))  # of hosts, each has as many
    diagnoses = doctor.examine(machine=machine, ranks=2 if oversubscribe else here_ranks)
    measured = programs.describe_library(library, programs.TOOLS).benchmarks
    described = named(measured, benchmark)
    check(library, measured)
    kinds = parse_buffers(buffers)
    if path and ranks:
        raise UserError("--ranks chooses a path by itself: leave out one of --path and --ranks")
    possible = paths.select_paths(machine, names, wanted_paths, ranks=wanted_ranks)
    data_path, ends = paths.fitting_path(possible, described, kinds)
    hosts_of_path = present(dict.fromkeys(end.host for end in data_path.ends))
    apart = hosts_of_path if data_path.between_hosts else []
    tools = programs.TOOLS
    library, lent = starting_here(library, machine, [apart], remote_shell, tools, say)
    if lent is not machine:
        possible = paths.select_paths(lent, names, wanted_paths, ranks=wanted_ranks)
        data_path, ends = paths.fitting_path(possible, described, kinds)
    bare = data_path.host_device == "none" and not is_native(library)
    if bare and path is None and described.over_bytes:
        case = TrialCase(kinds, described.name)
        contender = Contender(library=library, settings=chosen)
        if reason := why_needs_gpu(contender, case, data_path, machine, tools, say):
            say(f"{library.name} needs a GPU in each rank, and both hold the same one: {reason}")
            others = [other for other in possible if other.host_device != "none"]
            data_path, ends = paths.fitting_path(others, described, kinds)
    if mode_of(library) and not between_gpus(data_path, kinds):
        raise UserError(
            f"{library.name} is measured between GPUs of this host, one of each rank: give it "
            "--buffers D,D and a --path between two GPUs"
        )
    return Single(
        benchmark=described,
        library=library,
        settings=chosen.changed(env),
        machine=lent,
        diagnoses=diagnoses,
        path=data_path,
        ends=ends,
        buffers=kinds,
        remote_shell=remote_shell,
    )


def another_benchmark(first: Single, benchmark: str, *, path: str | None, buffers: str) -> Single:
    """Chooses another benchmark of the same library on this machine, that shares its MPS; UserError
    where it does not fit the path or the buffers."""
    described = programs.describe_library(first.library, programs.TOOLS).benchmarks
    possible = paths.select_paths(first.machine, [], [path] if path else [])
    kinds = parse_buffers(buffers)
    data_path, ends = paths.fitting_path(possible, named(described, benchmark), kinds)
    return replace(
        first, benchmark=named(described, benchmark), path=data_path, ends=ends, buffers=kinds
    )


def _variables(assignments: Sequence[str]) -> dict[str, str]:
    env = {}
    for word in assignments:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UserError(f"--settings-env {word!r}: write NAME=VALUE")
        env[name] = value
    return env
