# SPDX-License-Identifier: Apache-2.0
"""ORTE: Open MPI's mpirun before version 5, and Spectrum MPI's."""

from nearpeak.libraries.launchers import Job, prrte
from nearpeak.libraries.library import Library

PROGRAMS = ("mpirun", "mpiexec", "mpirun.*", "mpiexec.*", "orterun")
RANK, LOCAL_RANK = prrte.RANK, prrte.LOCAL_RANK


def arguments(library: Library, job: Job) -> list[str]:
    """mpirun, which differs from PRRTE's in the words for a remote shell."""
    return prrte.mpirun(library, job, "--mca", "plm_rsh_agent")
