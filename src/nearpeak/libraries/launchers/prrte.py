# SPDX-License-Identifier: Apache-2.0
"""PRRTE: Open MPI's mpirun since version 5."""

import os
from itertools import chain

from nearpeak.grouping import collected
from nearpeak.libraries.launchers import Job
from nearpeak.libraries.library import Library
from nearpeak.machine import allocation

PROGRAMS = ("mpirun", "mpiexec", "mpirun.*", "mpiexec.*", "prterun")
RANK, LOCAL_RANK = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"


def arguments(library: Library, job: Job) -> list[str]:
    """mpirun with one application context, or one for each group of consecutive ranks of a host."""
    line = [*front(library, job, "--prtemca", "plm_ssh_agent", "slot"), *job.flags]
    program = job.bound(RANK)
    if not job.hosts:
        return [*line, "-n", str(len(job.ranks)), *program]
    # The number of slots: with fewer than ranks, Open MPI yields the CPU while it waits.
    slots = {host: sum(counts) for host, counts in collected(job.hosts).items()}
    groups = [job.hosts] if len(slots) == len(job.hosts) else [[pair] for pair in job.hosts]
    contexts = []
    for hosts in groups:
        number = sum(count for _, count in hosts)
        places = ",".join(f"{host}:{slots[host]}" for host, _ in hosts)
        contexts.append([":", "-n", str(number), "--host", places, *program])
    return [*line, *[*chain.from_iterable(contexts)][1:]]


def front(library: Library, job: Job, option: str, remote_shell: str, mapping: str) -> list[str]:
    """The part of a line of mpirun that is about the launch as a whole.

    In a Slurm job, on all of whose nodes it starts ranks by default, it reaches other hosts by
    srun. `option` sets a parameter; `remote_shell` is the parameter for a remote shell.
    """
    line = [str(library.launcher)]
    if os.geteuid() == 0:
        line.append("--allow-run-as-root")
    line += ["--map-by", f"{mapping}:OVERSUBSCRIBE", "--bind-to", "none"]
    if job.remote_shell:
        line += [option, remote_shell, job.remote_shell]
    elif job.hosts and allocation.by_srun():
        line += [option, "plm", "slurm"]
    elif not job.hosts and allocation.manager() == allocation.SLURM:
        line += [option, "ras", "^slurm"]
    return [*line, *chain.from_iterable(("-x", name) for name in job.env)]
