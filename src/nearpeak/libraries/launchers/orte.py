# SPDX-License-Identifier: Apache-2.0
"""ORTE: Open MPI's mpirun before version 5, and Spectrum MPI's."""

from nearpeak.libraries.launchers import Job, prrte
from nearpeak.libraries.library import Library

PROGRAMS = ("mpirun", "mpiexec", "mpirun.*", "mpiexec.*", "orterun")
RANK, LOCAL_RANK = prrte.RANK, prrte.LOCAL_RANK


def arguments(library: Library, job: Job) -> list[str]:
    """mpirun with one application context: variables and parameters would reach ranks of the first
    alone. Several hosts stand in the order of ranks, each once for each of its ranks: mapped by
    slots, ranks fill this host first."""
    mapping = "seq" if job.hosts else "slot"
    line = prrte.front(library, job, "--mca", "plm_rsh_agent", mapping)
    line += [*job.flags, "-n", str(len(job.ranks))]
    if job.hosts:
        line += ["--host", ",".join(rank.host or "" for rank in job.ranks)]
    return [*line, *job.bound(RANK)]
