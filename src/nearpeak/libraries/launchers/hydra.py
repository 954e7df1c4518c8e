# SPDX-License-Identifier: Apache-2.0
"""Hydra: the mpiexec of MPICH, Intel MPI and MVAPICH. It hands the whole environment to ranks."""

from nearpeak.libraries.launchers import Job, bound
from nearpeak.libraries.model import Library


def arguments(library: Library, job: Job) -> list[str]:
    """mpiexec with the groups as its executables; ranks fill the hosts in order."""
    line = [str(library.launcher)]
    if any(group.host for group in job.groups):
        # "rsh" is the launcher that calls its program with nothing before the host.
        if job.remote_shell:
            line += ["-launcher", "rsh", "-launcher-exec", job.remote_shell]
        line += ["-hosts", ",".join(f"{group.host}:{group.count}" for group in job.groups)]
    line += job.flags
    for index, group in enumerate(job.groups):
        line += [":"] if index else []
        line += ["-n", str(group.count), *bound(group, job.program)]
    return line
