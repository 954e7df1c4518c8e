# SPDX-License-Identifier: Apache-2.0
"""ORTE: Open MPI's mpirun before version 5, and Spectrum MPI's."""

from nearpeak.libraries.launchers import Job
from nearpeak.libraries.launchers.prrte import mpirun
from nearpeak.libraries.library import Library


def arguments(library: Library, job: Job) -> list[str]:
    """mpirun, which differs from PRRTE's in the words for a remote shell."""
    return mpirun(library, job, "--mca", "plm_rsh_agent")
