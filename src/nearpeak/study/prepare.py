# SPDX-License-Identifier: Apache-2.0
"""From what a user asked for to a plan: libraries, programs, machine, paths, variants."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from nearpeak.errors import UserError
from nearpeak.folders import cache
from nearpeak.libraries import nccl
from nearpeak.libraries.build import build_mpi, build_native
from nearpeak.libraries.discover import find_libraries, resolve
from nearpeak.libraries.families import is_ceiling, is_native, mode_of
from nearpeak.libraries.launch import command_line, environment, shell_line
from nearpeak.libraries.model import Library, Settings
from nearpeak.libraries.settings import find
from nearpeak.machine.discover import discover
from nearpeak.machine.doctor import examine
from nearpeak.machine.model import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.perftest import has_perftest
from nearpeak.machine.places import Ranks
from nearpeak.numbers import printable
from nearpeak.study.commands import Tools
from nearpeak.study.describe import Description, describe, joined
from nearpeak.study.gate import Gate
from nearpeak.study.model import Contender, Plan, Variant
from nearpeak.study.options import Options
from nearpeak.study.plan import (
    DEVIATION,
    SIZES,
    VIRTUAL_DEVIATION,
    fits,
    is_measured_on,
    make_plan,
)
from nearpeak.study.variants import Awarenesses, choose_variants, unfit
from nearpeak.terms.benchmarks import Benchmark, check_name, closest, named
from nearpeak.terms.buffers import Ends, in_gpu, rank_ends
from nearpeak.terms.path import DataPath, Missing

HOST_SECONDS = 20.0  # for a host to answer

TOOLS = Tools(command_line=command_line, mpi_program=build_mpi, native_program=build_native)
__all__ = [
    "TOOLS",
    "check_hosts",
    "choose_contenders",
    "describe_library",
    "discover_paths",
    "environment",
    "find_libraries",
    "fitting_path",
    "gpu_path",
    "prepare",
    "resolve",
    "select_paths",
    "shell_line",
]


def prepare(
    options: Options, *, retry: bool = False, dry_run: bool = False
) -> tuple[Machine, Plan]:
    """The machine and the plan; builds the measuring programs on the way.

    What contenders do with device buffers is tried where it is not known yet, with `retry` in any
    case, with `dry_run` not at all.

    UserError for everything that the user can mend.
    """
    for benchmark in options.benchmarks:
        check_name(benchmark.partition(":")[0].strip())
    check_hosts(options.hosts, options.remote_shell)
    contenders = choose_contenders(options)
    machine = discover()
    if not options.libraries and machine.gpus:
        contenders += found_beside_mpi()
    # Before anything is built or tried: that would be load of our own.
    machine = msgspec.structs.replace(machine, diagnoses=examine(machine=machine))
    ranks = Ranks(options.ranks, bool(options.oversubscribe))
    paths = select_paths(machine, options.hosts, options.paths, bool(options.all_pairs), ranks)
    build_native()
    programs = Programs([contender.library for contender in contenders])
    described = programs.described
    asked, used = asked_for(options, machine, paths, described)
    gate = Gate(
        described,
        machine,
        gpu_path(discover_paths(machine)[0]),
        TOOLS,
        shell_line,
        cache() / "trials",
        retry=retry,
        tries=not dry_run,
    )

    def make() -> Plan:
        known = Awarenesses(gate.found, described)
        return make_plan(
            options,
            contenders,
            known.with_staging(contenders, asked),
            used,
            described.benchmarks,
            lambda contender, variant: (
                known.runs(contender, variant, asked) and programs.measure(contender, variant)
            ),
            has_perftest(),
            VIRTUAL_DEVIATION if machine.virtual else DEVIATION,
            gate.seconds,
            known.alone,
        )

    plan = gate.settle(make)
    if not any(launch.role == "mpi" for launch in plan.launches):
        names = ", ".join(contender.label for contender in contenders)
        raise UserError(f"{names} cannot measure anything of what was asked for: choose others")
    plan.awareness = gate.found
    return machine, plan


def asked_for(
    options: Options, machine: Machine, paths: Sequence[DataPath], described: Description
) -> tuple[list[Variant], list[DataPath]]:
    """What a study measures that has time for all of it: the variants, and of the paths, and those
    for ceilings, the ones that it takes for them."""
    named_so = [*described.usual(_of_families(described, options)), *options.benchmarks]
    wanted = named_so or described.defaults
    asked = choose_variants(described, wanted, options.buffers, paths, options.nothing_asked)
    used = [path for path in paths if path.transport == "local" or _is_used(path, asked, described)]
    return asked, [*used, *for_ceilings(used, discover_paths(machine)[0], asked, described)]


def _of_families(described: Description, options: Options) -> list[str]:
    """The benchmarks of the families asked for, but those that have none of the sizes."""
    names = described.of_families(options.operations)
    sizes = options.sizes or SIZES
    known = {one.name: one for one in described.benchmarks}
    return [one for one in names if not known[one].over_bytes or known[one].sizes(sizes)] or names


def _is_used(path: DataPath, variants: Sequence[Variant], described: Description) -> bool:
    """Whether a variant runs there."""
    return any(is_measured_on(path, _of(described, v), v.buffers) for v in variants)


def for_ceilings(
    paths: Sequence[DataPath],
    known: Sequence[DataPath],
    variants: Sequence[Variant],
    described: Description,
) -> list[DataPath]:
    """The paths that something is held against and that are not measured themselves.

    Of what is measured between more ranks, the first pair within each path, as the nearest come
    first; of applications, the memory that their cells are in.
    """
    bound = [v for v in variants if _of(described, v).ceiling == "bound"]
    found: dict[str, DataPath] = {}
    for path in paths:
        if path.transport == "local" or len(path.ends) == 2 or not _is_used(path, bound, described):
            continue
        within = [one for one in known if len(one.ends) == 2 and path.holds(one)]
        if within and not any(path.holds(one) for one in paths if len(one.ends) == 2):
            found[within[0].id] = msgspec.structs.replace(within[0], ceilings_only=True)
    applications = [v for v in variants if not _of(described, v).over_bytes]
    in_gpus = any(in_gpu(v.buffers) for v in applications)
    if in_gpus and not any(path.shares_gpu and not path.mps for path in paths):
        inside = [one for one in known if one.shares_gpu and not one.mps and len(one.ends) == 2]
        found |= {one.id: msgspec.structs.replace(one, ceilings_only=True) for one in inside[:1]}
    if any(not in_gpu(v.buffers) for v in applications):
        used = [end for path in paths for end in path.ends if end.memory == "host"]
        measured = {path.id for path in paths}
        for one in known:
            nodes = {end.numa_node for end in one.ends}
            own = one.transport == "local" and len(nodes) == 1
            if own and one.id not in measured and any(end.numa_node in nodes for end in used):
                found[one.id] = one
    return list(found.values())


def _of(described: Description, variant: Variant) -> Benchmark:
    return named(described.benchmarks, variant.benchmark)


def gpu_path(paths: Sequence[DataPath]) -> DataPath | None:
    """Where device buffers are tried: between two GPUs where there are two, as what a library does
    within one is a part of that. None without a GPU."""
    between = [path for path in paths if len(path.ends) == 2 and rank_ends(path, "D,D")]
    return min(between, key=_last_resort, default=None)


def choose_contenders(options: Options) -> list[Contender]:
    """The libraries asked for with their settings; without any, every library found."""
    if not options.libraries:
        found = find_libraries()
        if not found:
            raise UserError(
                "no MPI library was found: install one with `nearpeak mpi add openmpi`, "
                "or name one with --mpi PATH"
            )
        return [Contender(library=library, settings=Settings()) for library in found]
    contenders: list[Contender] = []
    for choice in options.libraries:
        try:
            library = resolve(choice.mpi)
        except nccl.MissingError as error:
            if len(options.libraries) == 1:
                raise
            print(printable(f"{error}; the others are measured without it"), file=sys.stderr)
            continue
        if choice.name:
            library = msgspec.structs.replace(library, name=choice.name)
        contenders += [
            Contender(
                library=library,
                settings=find(library.family, one) if isinstance(one, str) else one,
            )
            for one in choice.settings
        ]
    return contenders


def found_beside_mpi() -> list[Contender]:
    """NCCL or RCCL, where they are found: what programs with GPUs use in the place of MPI."""
    found = {one.family: one for one in reversed(nccl.discover().libraries)}
    return [Contender(library=library, settings=Settings()) for library in found.values()]


def _last_resort(path: DataPath) -> tuple[bool, bool]:
    """Sorts paths whose ends have a GPU each before those where several share one."""
    return path.shares_gpu, path.mps


def describe_library(library: Library) -> Description:
    """What nearpeak-mpi, built for this library, can measure, or the program in its place."""
    env = {**os.environ, **environment(library)}
    return describe(build_mpi(library), env, mode_of(library))


class Programs:
    """What the programs measure that libraries are measured by, each in its own words."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        ours = [library for library in libraries if not is_native(library)]
        beside = [library for library in libraries if mode_of(library)]
        self._own = {mode_of(one): describe_library(one) for one in [*ours, *beside] or libraries}
        # All builds of nearpeak-mpi say the same; its word comes before that of others.
        self.described = joined(list(self._own.values()))

    def measure(self, contender: Contender, variant: Variant) -> bool:
        """Whether that of a contender has a variant. What ceilings have, plan.py knows."""
        if is_ceiling(contender.library):
            return True
        benchmark = named(self.described.benchmarks, variant.benchmark)
        defaults = {axis.name: axis.default for axis in benchmark.axes}
        return self._own[mode_of(contender.library)].measures(variant, defaults)


_SO_MANY = re.compile(r"(?:host|gpu) x(\d{1,4})", re.ASCII)


def select_paths(
    machine: Machine,
    hosts: Sequence[str],
    wanted: Sequence[str],
    all_pairs: bool = False,
    ranks: Ranks = Ranks(),
) -> list[DataPath]:
    """The data paths asked for; without any, those of this machine, or between the two hosts.

    Without any, `all_pairs`: those between all pairs of GPUs, and of NUMA nodes and GPUs; `ranks`:
    those of so many ranks.
    UserError names one that is not there, and why.
    """
    if hosts and set(ranks.counts) - {2}:
        raise UserError(
            "--hosts measures between two ranks, one on each host: leave out --ranks "
            f"{','.join(map(str, ranks.counts))}"
        )
    usual, missing = discover_paths(machine, list(hosts), all_pairs, ranks)
    known = {path.id: path for path in usual}
    if any(one not in known for one in wanted):  # one of all pairs, or of a number of ranks
        counts = [int(match[1]) for match in map(_SO_MANY.fullmatch, wanted) if match]
        ranks = Ranks([*ranks.counts, *counts], ranks.oversubscribe)
        paths, lacking = discover_paths(machine, list(hosts), True, ranks)
        known |= {path.id: path for path in paths}
        missing += [reason for reason in lacking if reason not in missing]
    for one in wanted:
        if one not in known:
            if reasons := [reason for reason in missing if reason.path == one]:
                raise UserError(f"there is no path {reasons[0]}")
            raise UserError(f"unknown path {one!r}{closest(one, list(known))}")
    chosen = [path for path in usual if path.two_hosts or not hosts]
    if all_pairs:
        chosen = [path for path in usual if path.pair]
        if not chosen and not wanted:
            why = "".join(f" ({note})" for note in machine.gpu_notes)
            raise UserError(f"--all-pairs measures pairs of GPUs, and no GPU can be used here{why}")
    named = [msgspec.structs.replace(known[one], named=True) for one in wanted]
    chosen = named or _of_so_many(chosen, ranks.counts, missing)
    if wanted and all(path.transport == "local" for path in chosen):
        others = ", ".join(path.id for path in usual if path.transport != "local")
        raise UserError(
            f"{', '.join(wanted)}: one memory and the cores that use it, where ceilings are "
            f"measured and no MPI; choose a path between ranks{f': {others}' if others else ''}"
        )
    if all(path.transport == "local" for path in chosen):
        whys = "; ".join(map(str, missing)) or "choose another"
        raise UserError(f"no path for MPI is left: {whys}")
    return chosen


def _of_so_many(
    paths: list[DataPath], counts: Sequence[int], missing: Sequence[Missing]
) -> list[DataPath]:
    """The paths between so many ranks; UserError for a number of which there is none."""
    if not counts:
        return paths
    for number in counts:
        if not any(len(path.ends) == number for path in paths if path.transport != "local"):
            whys = [str(one) for one in missing if one.ranks == number]
            raise UserError(f"--ranks {number}: {'; '.join(whys) or 'no path has so many ends'}")
    return [path for path in paths if path.transport == "local" or len(path.ends) in counts]


def fitting_path(
    paths: Sequence[DataPath], benchmark: Benchmark, buffers: str
) -> tuple[DataPath, Ends]:
    """The first path that a benchmark with these buffers runs on, with each rank's end.

    One between two GPUs comes before one where the ranks share a GPU. UserError without one.
    """
    between = [path for path in paths if path.transport != "local"]
    for path in sorted(between, key=_last_resort):
        if fits(path, benchmark, buffers):
            return path, rank_ends(path, buffers) or path.ends
    if any(rank_ends(path, buffers) for path in between):
        names = ", ".join(f"{path.id} ({len(path.ends)})" for path in between)
        raise UserError(
            f"{benchmark.name} runs on {benchmark.ranks.text}, and none of the paths {names} has "
            "so many: choose another with --path"
        )
    raise UserError(f"buffers {buffers} {unfit(buffers, between)}")


def check_hosts(hosts: Sequence[str], remote_shell: str | None) -> None:
    """UserError unless there are two hosts (or none) that can be reached."""
    if not hosts:
        return
    if len(set(hosts)) != 2 or len(hosts) != 2:
        raise UserError(f"--hosts {','.join(hosts)}: name two different hosts, like --hosts a,b")
    shell = remote_shell or "ssh"
    for host in hosts:
        if host in ("localhost", socket.gethostname(), socket.getfqdn()):
            continue
        if host.startswith("-"):
            raise UserError(f"--hosts: {host!r} is not a host name")
        try:
            done = subprocess.run(
                [shell, host, "true"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=HOST_SECONDS,
                check=False,
            )
            why = done.stderr.decode(errors="replace").strip().splitlines()
            if done.returncode == 0:
                continue
        except subprocess.TimeoutExpired:
            why = [f"no answer within {HOST_SECONDS:.0f} s"]
        except OSError as error:
            why = [f"{shell}: {error.strerror}"]
        raise UserError(
            f"host {host!r} cannot be reached ({why[-1] if why else 'no reason given'}): "
            f"make `{shell} {host} true` work without a password"
        )
