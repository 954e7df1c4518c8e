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
    """The environment that every program of this library needs.

    The library's folder comes first in LD_LIBRARY_PATH, so that a program built with any library
    of its ABI runs with this one.
    """
    if is_native(library):
        return {}
    family = all_families()[library.family]
    env = {**library.env, **family.unbound, **family.environment(library)}
    inherited = library.env.get(LIBRARY_PATH, os.environ.get(LIBRARY_PATH, ""))
    env[LIBRARY_PATH] = join_paths(str(library.libmpi.parent), inherited)
    return env


def needed(library: Library, *, gpu: bool) -> dict[str, str]:
    """The environment with which a user's launch equals Nearpeak's, but for the binding of ranks.

    Search paths (`SEARCH_PATHS`) hold only the folders to put first. A library of the catalogue
    adds its folders and that of its launcher; others are found as they were installed.
    """
    if is_native(library):
        return {}
    family = all_families()[library.family]
    for_gpu = family.gpu.env if gpu and family.gpu else {}
    env = {**library.env, **family.environment(library), **for_gpu}
    inherited = os.environ.get(LIBRARY_PATH, "").split(":")
    folders = [folder for folder in env.pop(LIBRARY_PATH, "").split(":") if folder not in inherited]
    if library.entry:
        env["PATH"] = str(library.launcher.parent)
        listed = catalogue.entry(library.entry).environment.get(LIBRARY_PATH, "")
        folders = [str(library.libmpi.parent), listed]
    if ahead := join_paths(*folders):
        env[LIBRARY_PATH] = ahead
    return env


def command_line(library: Library, launch: Launch) -> CommandLine:
    """The command line of a launch: every rank bound to its CPUs, with the settings' environment.

    `network_only` forces TCP, which no setting overrides, unless no two ranks share a host: then
    the library chooses the network. `gpu` makes the library take GPU buffers. A settings'
    LD_LIBRARY_PATH is put before the library's. Settings can leave out variables of library and
    family that given.check_unset allows. UserError when the family has no known setting that forces
    the network, or its launcher cannot, and for an invalid name of a host.
    """
    family = all_families()[library.family]
    hosts = [rank.host and check_host(rank.host) for rank in launch.ranks]
    if any(hosts):
        hosts = [host or socket.gethostname() for host in hosts]
    network = Settings()
    if launch.network_only and len(set(hosts)) < len(hosts):
        network = forced_network(library)
    gpu = (family.gpu if launch.gpu else None) or Settings()
    inherent = {**environment(library), **gpu.env}
    env = {**launch.settings.kept_of(inherent), **launch.settings.env, **launch.env, **network.env}
    if LIBRARY_PATH in launch.settings.env:
        ahead = launch.settings.env[LIBRARY_PATH]
        env[LIBRARY_PATH] = join_paths(ahead, inherent[LIBRARY_PATH])
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
    """The settings that force TCP between ranks of one host. UserError where none are known."""
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
    if launcher := launchers.of_job(library.launcher):  # replaces its family's
        return launcher
    return all_families()[library.family].launcher_of(library.version)


def check_launcher(library: Library) -> None:
    """UserError where the launcher of the library's ranks cannot start them here."""
    if launcher := launchers.of_job(library.launcher):
        launchers.check(launcher, library)


def shell_line(line: CommandLine) -> str:
    """The command line as one line for a POSIX shell."""
    if not line.env:
        return shlex.join(line.argv)
    return shlex.join(["env", *(f"{name}={value}" for name, value in line.env.items()), *line.argv])


def join_paths(*paths: str) -> str:
    """Search paths joined in order, without empty or repeated folders."""
    return ":".join(dict.fromkeys(folder for path in paths for folder in path.split(":") if folder))
