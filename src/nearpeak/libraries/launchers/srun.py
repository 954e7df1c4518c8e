# SPDX-License-Identifier: Apache-2.0
"""Slurm's srun, inside a job, for libraries whose launcher is missing or does not start."""

import os

from nearpeak.libraries.launchers import Job
from nearpeak.libraries.library import Library
from nearpeak.machine import allocation

PROGRAM = "srun"
RANK, LOCAL_RANK = "SLURM_PROCID", "SLURM_LOCALID"
JOB = "a Slurm job alone, and this is none: start nearpeak in one (sbatch or salloc)"


def in_job() -> bool:
    """True if this process is in a job. Elsewhere srun would ask for a job, and wait for it."""
    return bool(os.environ.get("SLURM_JOB_ID"))


offered = allocation.mpi_types


def arguments(library: Library, job: Job) -> list[str]:
    """One srun; a task's number is its rank."""
    line = [str(library.launcher), "--cpu-bind=none", "--export=ALL"]
    line.append(f"--ntasks={len(job.ranks)}")
    if library.pmi:
        line.append(f"--mpi={library.pmi}")
    current = None if job.hosts else allocation.current()
    if current and current.here:
        line += ["--nodes=1", f"--nodelist={current.here}"]
    elif job.hosts:
        # One word for each task, or with `*` for several in a row (srun(1), --nodelist).
        names = [f"{host}*{count}" if count > 1 else host for host, count in job.hosts]
        line += ["--distribution=arbitrary", f"--nodelist={','.join(names)}"]
        line.append(f"--nodes={len(dict(job.hosts))}")
    return [*line, *job.flags, *job.bound(RANK)]
