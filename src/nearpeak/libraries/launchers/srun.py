# SPDX-License-Identifier: Apache-2.0
"""Slurm's srun, inside an allocation, for libraries that bring no launcher of their own."""

from nearpeak.errors import UserError
from nearpeak.libraries.launchers import Job
from nearpeak.libraries.library import Library


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
