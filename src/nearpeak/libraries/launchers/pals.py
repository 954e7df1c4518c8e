# SPDX-License-Identifier: Apache-2.0
"""The mpiexec of HPE's PALS (Parallel Application Launch Service), in a job of PBS.

It follows command lines of sites and of Dragon's documentation, and has not been run. It assumes
that ranks fill the hosts in the order of their names; a study checks where its ranks ran.
"""

import os
import socket
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.libraries.launchers import Job
from nearpeak.libraries.library import Library

PROGRAM = "mpiexec"
RANK, LOCAL_RANK = "PALS_RANKID", "PALS_LOCAL_RANKID"
JOB = "a PBS job alone, and this is none: start nearpeak in one (qsub)"


def is_it(program: Path) -> bool:
    """True if an mpiexec is that of PALS: it lies in /opt/cray/pe/pals/VERSION/bin, or in
    /opt/cray/pals/VERSION/bin."""
    return "pals" in program.resolve().parts


def in_job() -> bool:
    """True if this process is in a PBS job."""
    return bool(os.environ.get("PBS_JOBID"))


def arguments(library: Library, job: Job) -> list[str]:
    """mpiexec, which hands the environment to ranks.

    UserError where hosts have different numbers of ranks, or the ranks of a host are not
    consecutive.
    """
    hosts = job.hosts or [(socket.gethostname(), len(job.ranks))]
    per_host, *others = {count for _, count in hosts}
    names = [host for host, _ in hosts]
    if others or len(set(names)) < len(names):
        raise UserError(
            "mpiexec of PALS starts as many ranks on each host, one host after the other: give "
            "all hosts the same number"
        )
    line = [str(library.launcher), "-n", str(len(job.ranks)), "--ppn", str(per_host)]
    line += ["--hosts", ",".join(names), "--cpu-bind", "none"]
    return [*line, *job.flags, *job.bound(RANK)]
