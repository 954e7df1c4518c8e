# SPDX-License-Identifier: Apache-2.0
"""From a launch to the command line that a library's launcher understands."""

import os
import shlex
import socket

from nearpeak.errors import UserError
from nearpeak.libraries import catalogue, launchers
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.library import CommandLine, Launch, Library, Rank, Settings
from nearpeak.machine import allocation
from nearpeak.terms.command_words import check_host

LIBRARY_PATH = "LD_LIBRARY_PATH"
SEARCH_PATHS = ("PATH", LIBRARY_PATH)


def environment(library: Library) -> dict[str, str]:
    """What every program of this library needs in its environment.

    The library's own folder comes first in LD_LIBRARY_PATH, so that a program built with any
    library of its ABI runs with this one.
    """
    if is_native(library):
        return {}
    family = all_families()[library.family]
    env = {**library.env, **family.unbound, **family.environment(library)}
    inherited = library.env.get(LIBRARY_PATH, os.environ.get(LIBRARY_PATH, ""))
    env[LIBRARY_PATH] = join_paths(str(library.libmpi.parent), inherited)
    return env


def needed(library: Library, *, gpu: bool) -> dict[str, str]:
    """What a launch needs in its environment that is not ours, to be like ours but for the binding
    of ranks. Of search paths (`SEARCH_PATHS`) it has the folders that come first.

    What installed a library is what makes it found: only of those of the catalogue its own folders
    are named, and those of its launcher.
    """
    if is_native(library):
        return {}
    family = all_families()[library.family]
    for_gpu = family.gpu.env if gpu and family.gpu else {}
    env = {**library.env, **family.environment(library), **for_gpu}
    inherited = os.environ.get(LIBRARY_PATH, "").split(":")
    folders = [each for each in env.pop(LIBRARY_PATH, "").split(":") if each not in inherited]
    if library.entry:
        env["PATH"] = str(library.launcher.parent)
        own = catalogue.entry(library.entry).environment.get(LIBRARY_PATH, "")
        folders = [str(library.libmpi.parent), own]
    if ahead := join_paths(*folders):
        env[LIBRARY_PATH] = ahead
    return env


def command_line(library: Library, launch: Launch) -> CommandLine:
    """The command line of a launch: every rank bound to its CPUs, with the settings' environment.

    `network_only` adds what forces TCP, which no setting overrides, unless no two ranks share a
    host: then the library's own choice of network is kept. `gpu` adds what makes the library take
    GPU buffers. A settings' LD_LIBRARY_PATH is put before the library's. Settings leave out what
    library and family give: given.check_unset says what.
    UserError when the family has no known way to force the network, or its launcher cannot, and for
    what is no name of a host.
    """
    family = all_families()[library.family]
    hosts = [rank.host and check_host(rank.host) for rank in launch.ranks]
    if any(hosts):
        hosts = [host or socket.gethostname() for host in hosts]
    network = Settings()
    if launch.network_only and len(set(hosts)) < len(hosts):
        network = forced_network(library)
    gpu = (family.gpu if launch.gpu else None) or Settings()
    own = {**environment(library), **gpu.env}
    env = {**launch.settings.kept_of(own), **launch.settings.env, **launch.env, **network.env}
    if LIBRARY_PATH in launch.settings.env:
        ahead = launch.settings.env[LIBRARY_PATH]
        env[LIBRARY_PATH] = join_paths(ahead, own[LIBRARY_PATH])
    job = launchers.Job(
        ranks=[
            Rank(cpus=rank.cpus, host=host) for rank, host in zip(launch.ranks, hosts, strict=True)
        ],
        program=launch.program,
        flags=[*network.flags, *gpu.flags, *launch.settings.flags],
        env=list(env),
        remote_shell=launch.remote_shell,
    )
    argv = launchers.arguments(launcher_of(library), library, job)
    if allocation.manager() == allocation.SLURM:
        env = {**env, **allocation.SHARING_STEPS}
    return CommandLine(argv=argv, env=env)


def forced_network(library: Library) -> Settings:
    """What has ranks of one host talk by TCP. UserError where that is not known."""
    family = all_families()[library.family]
    forced = library.network_only or family.network_only
    if forced is None:
        raise UserError(
            f"{family.title} has no known setting that forces the network between ranks of "
            f"one host: leave this path out for {library.name}"
        )
    return forced


def launcher_of(library: Library) -> str:
    """The kind of launcher (a file in launchers/) that starts this library's ranks."""
    if launcher := launchers.of_job(library.launcher):  # in the place of its family's
        return launcher
    return all_families()[library.family].launcher_of(library.version)


def check_launcher(library: Library) -> None:
    """UserError where what starts the library's ranks cannot do so here."""
    if launcher := launchers.of_job(library.launcher):
        launchers.check(launcher, library)


def shell_line(line: CommandLine) -> str:
    """The command line as one line for a POSIX shell."""
    if not line.env:
        return shlex.join(line.argv)
    return shlex.join(["env", *(f"{name}={value}" for name, value in line.env.items()), *line.argv])


def join_paths(*paths: str) -> str:
    """Search paths joined in order, what is empty or named twice left out."""
    return ":".join(dict.fromkeys(folder for path in paths for folder in path.split(":") if folder))
