# SPDX-License-Identifier: Apache-2.0
"""Hydra: the mpiexec of MPICH, Intel MPI and MVAPICH. It hands the whole environment to ranks."""

from nearpeak.errors import UserError
from nearpeak.libraries.launchers import Job
from nearpeak.libraries.library import Library
from nearpeak.machine import allocation

PROGRAMS = ("mpirun", "mpiexec", "mpiexec.hydra", "mpirun.*", "mpiexec.*")
RANK, LOCAL_RANK = "PMI_RANK", "MPI_LOCALRANKID"


def arguments(library: Library, job: Job) -> list[str]:
    """mpiexec; ranks fill the hosts in order.

    In a job of Slurm or PBS, from which it takes its hosts by default, it reaches others by srun,
    or by ssh. UserError where hosts have different numbers of ranks: MPICH takes `HOST:COUNT` for
    that, which Intel MPI ignores.
    """
    line = [str(library.launcher)]
    if job.hosts:
        # "rsh" is the launcher that calls its program with nothing before the host.
        if job.remote_shell:
            line += ["-launcher", "rsh", "-launcher-exec", job.remote_shell]
        elif allocation.by_srun():
            line += ["-launcher", "slurm"]
        per_host, *others = {count for _, count in job.hosts}
        if others:
            raise UserError(
                "mpiexec starts as many ranks on each host: give all hosts the same number"
            )
        line += ["-ppn", str(per_host), "-hosts", ",".join(host for host, _ in job.hosts)]
    elif allocation.job():
        line += ["-launcher", "fork", "-hosts", "localhost"]
    return [*line, *job.flags, "-n", str(len(job.ranks)), *job.bound(RANK)]
