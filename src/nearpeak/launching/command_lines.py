# SPDX-License-Identifier: Apache-2.0
"""The command line of a launch: one of Nearpeak's programs, the places of its ranks, its
options."""

import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.launching import mps
from nearpeak.libraries.families import all_families
from nearpeak.libraries.library import CommandLine, Contender, Launch, Library, Rank, Settings
from nearpeak.terms.buffers import Ends, in_gpu, memory_devices, needs_gpu
from nearpeak.terms.command_words import PART, check_option, check_word
from nearpeak.terms.path import NO_DEVICE, DataPath, rank_devices


@dataclass(frozen=True)
class Tools:
    """Makes command lines and builds programs: nearpeak.libraries, or stand-ins in tests."""

    command_line: Callable[[Library, Launch], CommandLine]
    mpi_program: Callable[[Library], Path]
    native_program: Callable[[], Path]


class Seats(NamedTuple):
    """The ends of a path that the ranks of a launch sit at, and their buffers there."""

    path: DataPath
    ends: Ends  # of the path, one for each rank
    buffers: str


# By this variable both ends of a ceiling between hosts recognise each other
# (bench/group/socket.cpp).
TOKEN = "NEARPEAK_TOKEN"


def with_token(env: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment with a new token if the launch takes one. No record has it, as
    records hold the command line before this."""
    return {**env, TOKEN: secrets.token_hex(16)} if TOKEN in env else dict(env)


def new_study() -> str:
    """An id for a study."""
    return uuid.uuid4().hex


def rank_launch(
    program: list[str],
    seats: Seats,
    settings: Settings,
    remote_shell: str | None = None,
) -> Launch:
    """A launch of nearpeak-mpi with its ranks in these seats."""
    gpu = in_gpu(seats.buffers) or seats.path.gpu_support
    forced = seats.path.transport == "network" and not seats.path.between_hosts
    return Launch(
        program=program,
        ranks=rank_places(seats.ends),
        settings=settings,
        network_only=forced and not gpu,
        remote_shell=remote_shell,
        gpu=gpu,
        env=path_environment(seats.path),
    )


def probe_launch(
    tools: Tools, contender: Contender, options: list[str], seats: Seats
) -> CommandLine:
    """Returns the command line of `nearpeak-mpi probe` with its ranks in these seats. They have
    devices if the buffers need them."""
    program = [str(tools.mpi_program(contender.library)), "probe", *options]
    program += device_options(seats.ends, seats.buffers)
    launch = rank_launch(program, seats, contender.settings)
    return tools.command_line(contender.library, launch)


def path_environment(path: DataPath) -> dict[str, str]:
    """Return the variables that a path needs: for MPS of our own or none, and for its adapter."""
    on_gpus = any(end.gpu or end.device for end in path.ends)
    env = mps.environment(mps=path.mps) if on_gpus else {}
    if env and path.between_hosts:
        # Their GPUs are named by NVML's index, and CUDA's own order may differ.
        env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    # UCX reads it; other transports have no common variable.
    return {**env, "UCX_NET_DEVICES": path.nic} if path.nic else env


def library_of_ceilings(
    tools: Tools,
    seats: Seats,
    benchmarks: list[str],
    options: list[str],
    settings: Settings,
) -> CommandLine:
    """Returns the command line of nearpeak-native as a library: the best of its methods; errors as
    ceilings_line."""
    line = ceilings_line(tools, seats, benchmarks, ["--as-library", *options])
    return CommandLine(argv=line.argv, env={**settings.env, **line.env})


def ceilings_line(
    tools: Tools, seats: Seats, benchmarks: list[str], options: list[str]
) -> CommandLine:
    """Returns the command line of nearpeak-native with all its methods.

    UserError between two hosts, as nothing starts the far end.
    """
    if seats.path.between_hosts:
        raise UserError(
            f"{seats.path.id}: the ceiling is measured on one host alone: leave --mpi ceiling out"
        )
    mode = within_host(seats)
    metrics = ["--metrics", ",".join(benchmarks)]
    return CommandLine(
        argv=[str(tools.native_program()), *mode, *metrics, *options],
        env=path_environment(seats.path),
    )


def loaded_by_native(
    tools: Tools,
    library: Library,
    seats: Seats,
    benchmark_options: list[str],
    settings: Settings,
) -> CommandLine:
    """Returns the command line of nearpeak-native that loads a library, like NCCL.
    `benchmark_options`: benchmarks with their options."""
    family = all_families()[library.family]
    backend = f"{family.backend}:" if family.backend else ""
    named = [backend + check_word(device) for device in memory_devices(seats.ends)]
    place_options = [*_first_cpus(seats.ends), "--devices", ",".join(named)]
    library_options = ["--buffers", seats.buffers, "--library", str(library.libmpi)]
    return CommandLine(
        argv=[
            str(tools.native_program()),
            str(family.mode),
            *place_options,
            *library_options,
            *benchmark_options,
        ],
        env={**settings.env, **path_environment(seats.path)},
    )


def _first_cpus(ends: Ends) -> list[str]:
    return ["--cpus", ",".join(str(end.cpus[0]) for end in ends)]


def within_host(seats: Seats) -> list[str]:
    """The mode of nearpeak-native for a path of one host, with its ends."""
    cpus = _first_cpus(seats.ends)
    if needs_gpu(seats.buffers):
        named = ",".join(map(check_word, rank_devices(seats.ends)))
        return ["gpu", *cpus, "--buffers", seats.buffers, "--devices", named]
    if seats.path.transport == "network":
        return ["tcp", *cpus, "--address", "127.0.0.1"]
    return ["pair", *cpus]


def parts_of(arguments: Sequence[str]) -> list[list[str]]:
    """The command lines that a + parts."""
    parts: list[list[str]] = [[]]
    for word in arguments:
        if word == PART:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def joined(parts: Sequence[Sequence[str]]) -> list[str]:
    """The command lines as one, with a + between them."""
    first, *others = parts
    return [*first, *(word for part in others for word in (PART, *part))]


def options_of(axes: Mapping[str, str]) -> list[str]:
    """Return the options that give a program the values of axes; UserError as of check_option."""
    return [word for name, value in axes.items() for word in check_option(name, value)]


def rank_places(ends: Ends) -> list[Rank]:
    """Returns the CPUs and the host of each rank at these ends."""
    return [Rank(cpus=end.cpus, host=end.host) for end in ends]


def device_options(ends: Ends, buffers: str) -> list[str]:
    """Returns the options that name each rank's device to nearpeak-mpi; none without devices."""
    all_hold = all(end.device not in (None, NO_DEVICE) for end in ends)
    if not (needs_gpu(buffers) or all_hold):
        return []
    rows = [(check_word(name), len(list(row))) for name, row in groupby(rank_devices(ends))]
    devices = [f"{name}*{n}" if n > 2 else ",".join([name] * n) for name, n in rows]
    return ["--devices", ",".join(devices)]
