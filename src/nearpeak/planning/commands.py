# SPDX-License-Identifier: Apache-2.0
"""The command line of each launch of a plan."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nearpeak.launching.command_lines import (
    TOKEN,
    Seats,
    Tools,
    device_options,
    joined,
    library_of_ceilings,
    loaded_by_native,
    options_of,
    path_environment,
    rank_launch,
    rank_places,
    within_host,
)
from nearpeak.launching.places import Wanted, wanted_at
from nearpeak.libraries.families import is_ceiling, is_native
from nearpeak.libraries.library import CommandLine, Contender, Launch
from nearpeak.planning.ceilings import ceiling_benchmarks, in_flight_bytes
from nearpeak.planning.plan import Group, Plan, PlannedLaunch, Template
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import GPU_FACTS
from nearpeak.terms.buffers import Ends, in_gpu, memory_devices, needs_gpu, rank_ends
from nearpeak.terms.command_words import PART, check_host, check_word
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_bytes, format_sizes

# Limit of a rank's buffers in a study with default benchmarks: segments of 4 MiB for each of many
# ranks take longer to allocate and to verify than to send.
MEMORY_LIMIT = "64M"
# Limit of an application's cells: on a device more than a problem of the usual size takes, and on
# the host the share of one core on most machines.
PROBLEM_LIMIT, GPU_PROBLEM_LIMIT = "2G", "32G"
# Ports of ceilings between hosts, which may take the next one too; below those of outgoing
# connections.
FIRST_PORT = 20000
PORTS = 10000
THIS_HOST = "127.0.0.1"  # where both ends of a loopback meet


def make_command(
    plan: Plan, planned: PlannedLaunch, tools: Tools, jsonl: Path | None = None
) -> CommandLine:
    """The command line of a planned launch; its records go to `jsonl`, or a table to stdout.
    UserError where a name of the plan would be an option of what is launched."""
    for word in _names_in(plan, planned):
        check_word(word)
    path = plan.find_path(planned.path)
    if path.is_local:
        # Its sizes are those of arrays, not of messages: the program's are larger than any cache.
        return _local(path, tools, _sampling(plan, planned, planned.groups[0], jsonl))

    def common(group: Group) -> list[str]:
        sizes = format_sizes(plan.sizes_in(planned, group))
        return ["--sizes", sizes, *_sampling(plan, planned, group, jsonl)]

    if planned.contender is None:
        methods, plateau = _methods(planned), _plateau(plan, planned)
        return _in_sequence(
            [
                _ceiling(plan, planned, group, tools, [*methods, *common(group), *plateau])
                for group in planned.groups
            ]
        )
    contender = plan.contenders[planned.contender]
    if is_native(contender.library):
        return _in_sequence(
            [
                _native(plan, group, path, contender, tools, common(group))
                for group in planned.groups
            ]
        )
    ends = launch_ends(plan, planned)
    program = [str(tools.mpi_program(contender.library))]
    for group in planned.groups:
        program += [PART] if len(program) > 1 else []
        for number in group.variants:
            program += [plan.variants[number].benchmark, *options_of(plan.variants[number].axes)]
        # Common options may stand after any benchmark.
        program += ["--buffers", group.buffers, *device_options(ends, group.buffers)]
        program += ["--reversed"] if group_ends(path, group) != ends else []
        program += common(group)
    seats = Seats(path, ends, planned.groups[0].buffers)
    launch = rank_launch(program, seats, contender.settings, plan.remote_shell)
    return tools.command_line(contender.library, launch)


def _names_in(plan: Plan, planned: PlannedLaunch) -> Iterator[str]:
    """Yields the names in a plan that programs are given, as an earlier session or the plan's
    author may have chosen them."""
    yield from (benchmark.name for benchmark in plan.benchmarks)
    yield from planned.methods
    yield from (group.buffers for group in planned.groups)
    if planned.adapter:
        yield planned.adapter


def _sampling(plan: Plan, planned: PlannedLaunch, group: Group, jsonl: Path | None) -> list[str]:
    return [
        *("--window", str(plan.window)),
        *("--in-flight", format_bytes(in_flight_bytes(plan, group.buffers))),
        *_memory_limit(plan, planned),
        *(() if plan.counters else ("--no-counters",)),
        *("--slot-ms", f"{planned.slot_ms:g}"),
        *("--least-samples", str(planned.least_samples)),
        *("--seed", str(planned.seed)),
        *(("--jsonl", str(jsonl)) if jsonl else ()),
    ]


def _in_sequence(lines: Sequence[CommandLine]) -> CommandLine:
    """Joins command lines of nearpeak-native into one."""
    first = lines[0]
    argv = [first.argv[0], *joined([line.argv[1:] for line in lines])]
    return CommandLine(argv=argv, env=first.env)


def _memory_limit(plan: Plan, planned: PlannedLaunch) -> list[str]:
    if plan.application(planned):
        gpu = needs_gpu(planned.groups[0].buffers)
        return ["--memory-limit", GPU_PROBLEM_LIMIT if gpu else PROBLEM_LIMIT]
    return ["--memory-limit", MEMORY_LIMIT] if plan.few_sizes else []


def launch_ends(plan: Plan, launch: Template) -> Ends:
    """Returns the end of the path that each rank of a launch sits at, as the launcher numbers them.

    Within a host it is the same for all groups, some of which have their ranks reversed.
    """
    path = plan.find_path(launch.path)
    return group_ends(path, launch.groups[0]) if path.between_hosts else path.ends


def group_ends(path: DataPath, group: Group) -> Ends:
    """Returns the end of the path that each rank of a group sits at."""
    return rank_ends(path, group.buffers) or path.ends


def wanted_place(plan: Plan, launch: Template, group: Group) -> Wanted:
    """Returns the places where the ranks of a group must run, and their library."""
    path = plan.find_path(launch.path)
    if path.is_local:
        end = path.ends[0]
        return Wanted(hosts=[end.host], cpus=[end.cpus], devices=[])
    library = None if launch.contender is None else plan.contenders[launch.contender].library
    return wanted_at(
        group_ends(path, group),
        # perftest's programs hold the devices: the program does not report them.
        between_hosts=path.between_hosts or bool(launch.adapter),
        ceiling=launch.role == "ceiling",
        library=library.version_text if library and not is_ceiling(library) else None,
    )


def _local(path: DataPath, tools: Tools, common: list[str]) -> CommandLine:
    """Returns the command line of the ceiling of a memory, which has no ranks at its ends."""
    cpus = ",".join(str(cpu) for cpu in path.ends[0].cpus)
    place_options = ["memory", "--cpus", cpus, "--memory-node", str(path.ends[1].numa_node)]
    return CommandLine(argv=[str(tools.native_program()), *place_options, *common], env={})


def _plateau(plan: Plan, planned: PlannedLaunch) -> list[str]:
    plateau = plan.plateaus.get(planned.path)
    if plateau is None or planned.block >= FEWEST_FOR_INTERVAL:
        return []
    return ["--plateau", format_bytes(plateau)]


def _methods(planned: PlannedLaunch) -> list[str]:
    return ["--methods", ",".join(planned.methods)] if planned.methods else []


def _ceiling(
    plan: Plan, planned: PlannedLaunch, group: Group, tools: Tools, common: list[str]
) -> CommandLine:
    path = plan.find_path(planned.path)
    measured = ceiling_benchmarks(plan, path, group.buffers)
    metrics = [name for name in plan.order(planned.block) if name in measured]
    within = not (path.between_hosts or planned.adapter)
    if needs_gpu(group.buffers) and within:
        metrics += GPU_FACTS
    options = [*options_of(group.axes), "--metrics", ",".join(metrics), *common]
    program, ends = str(tools.native_program()), group_ends(path, group)
    if within:
        place_options = within_host(Seats(path, ends, group.buffers))
        env = path_environment(path)
        return CommandLine(argv=[program, *place_options, *options], env=env)
    return tools.command_line(
        # The first library's launcher starts the other end.
        next(c.library for c in plan.contenders if not is_native(c.library)),
        Launch(
            program=[program, *_between_hosts(planned, group, ends), *options],
            ranks=rank_places(ends),
            remote_shell=plan.remote_shell,
            env={**(path_environment(path) if planned.adapter else {}), TOKEN: ""},
        ),
    )


def _between_hosts(planned: PlannedLaunch, group: Group, ends: Ends) -> list[str]:
    """Returns the options of a ceiling between hosts, or of a loopback: over TCP, or over an RDMA
    adapter."""
    port = FIRST_PORT + planned.seed % PORTS
    peer = ["--peer", check_host(ends[0].host or THIS_HOST), "--port", str(port)]
    if not planned.adapter:
        return ["tcp", *peer]
    devices = ["--devices", ",".join(map(check_word, memory_devices(ends)))]
    adapter = ["--adapter", planned.adapter, "--buffers", group.buffers]
    return ["verbs", *peer, *adapter, *(devices if in_gpu(group.buffers) else [])]


def _native(
    plan: Plan,
    group: Group,
    path: DataPath,
    contender: Contender,
    tools: Tools,
    common: list[str],
) -> CommandLine:
    """Returns the command line of nearpeak-native as a library: the ceilings, or a library that it
    loads."""
    seats = Seats(path, group_ends(path, group), group.buffers)
    variants = [plan.variants[number] for number in group.variants]
    if is_ceiling(contender.library):
        names = [variant.benchmark for variant in variants]
        options = [*options_of(group.axes), *common]
        return library_of_ceilings(tools, seats, names, options, contender.settings)
    benchmark_options = []
    for variant in variants:
        # It behaves like the defaults on axes that it lacks.
        usual = plan.benchmark(variant).defaults
        other = {name: value for name, value in variant.axes.items() if value != usual[name]}
        benchmark_options += [variant.benchmark, *options_of(other)]
    benchmark_options += common
    return loaded_by_native(tools, contender.library, seats, benchmark_options, contender.settings)
