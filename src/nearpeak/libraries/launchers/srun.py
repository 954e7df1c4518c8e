# SPDX-License-Identifier: Apache-2.0
"""Slurm's srun, inside a job, for libraries that bring no launcher of their own."""

import os

from nearpeak.errors import UserError
from nearpeak.libraries.launchers import Job
from nearpeak.libraries.library import Library

IN_JOB_ALONE = "in a Slurm job alone, and this is none: start nearpeak in one (sbatch or salloc)"


def in_job() -> bool:
    """Whether this process is in one. Elsewhere srun would ask for a job, and wait for it."""
    return "SLURM_JOB_ID" in os.environ


def check(library: Library) -> None:
    """UserError outside of a job, for a library that srun starts."""
    if not in_job():
        raise UserError(f"srun starts {library.name} {IN_JOB_ALONE}")


def arguments(library: Library, job: Job) -> list[str]:
    """One srun; a task's number is its rank."""
    if job.remote_shell:
        raise UserError("srun takes no remote shell: leave --remote-shell out")
    line = [str(library.launcher), "--cpu-bind=none", "--export=ALL"]
    line.append(f"--ntasks={len(job.ranks)}")
    if job.hosts:
        # One word for each task, or with `*` for several in a row (srun(1), --nodelist).
        names = [f"{host}*{count}" if count > 1 else host for host, count in job.hosts]
        line += ["--distribution=arbitrary", f"--nodelist={','.join(names)}"]
        line.append(f"--nodes={len(dict(job.hosts))}")
    return [*line, *job.flags, *job.bound("SLURM_PROCID")]
