# SPDX-License-Identifier: Apache-2.0
"""From a launch to the command line that a library's launcher understands."""

import os
import shlex
import socket

from nearpeak.errors import UserError
from nearpeak.libraries import launchers
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.library import CommandLine, Launch, Library, Rank, Settings
from nearpeak.machine import allocation


def environment(library: Library) -> dict[str, str]:
    """What every program of this library needs in its environment.

    The library's own folder comes first in LD_LIBRARY_PATH, so that a program built with any
    library of its ABI runs with this one.
    """
    if is_native(library):
        return {}
    env = {**library.env, **all_families()[library.family].environment(library)}
    inherited = library.env.get("LD_LIBRARY_PATH", os.environ.get("LD_LIBRARY_PATH", ""))
    env["LD_LIBRARY_PATH"] = join_paths(str(library.libmpi.parent), inherited)
    return env


def command_line(library: Library, launch: Launch) -> CommandLine:
    """The command line of a launch: every rank bound to its CPUs, with the settings' environment.

    `network_only` adds what forces TCP, unless no two ranks share a host: then the library's own
    choice of network is kept. `gpu` adds what makes the library take GPU buffers. A settings'
    LD_LIBRARY_PATH is put before the library's.
    UserError when the family has no known way to force the network, or its launcher cannot.
    """
    family = all_families()[library.family]
    hosts = [rank.host for rank in launch.ranks]
    if any(hosts):
        hosts = [host or socket.gethostname() for host in hosts]
    network = Settings()
    if launch.network_only and len(set(hosts)) < len(hosts):
        forced = library.network_only or family.network_only
        if forced is None:
            raise UserError(
                f"{family.title} has no known setting that forces the network between ranks of "
                f"one host: leave this path out for {library.name}"
            )
        network = forced
    gpu = (family.gpu if launch.gpu else None) or Settings()
    needed = environment(library)
    env = {**needed, **network.env, **gpu.env, **launch.settings.env, **launch.env}
    if "LD_LIBRARY_PATH" in launch.settings.env:
        ahead = launch.settings.env["LD_LIBRARY_PATH"]
        env["LD_LIBRARY_PATH"] = join_paths(ahead, needed["LD_LIBRARY_PATH"])
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
