# SPDX-License-Identifier: Apache-2.0
"""Slurm's srun, inside an allocation, for libraries that bring no launcher of their own."""

from nearpeak.errors import UserError
from nearpeak.libraries.launchers import Job, bound
from nearpeak.libraries.model import Library


def arguments(library: Library, job: Job) -> list[str]:
    """One srun; each task binds itself by its number, which is its rank."""
    if job.remote_shell:
        raise UserError("srun takes no remote shell: leave --remote-shell out")
    count = sum(group.count for group in job.groups)
    line = [str(library.launcher), "--cpu-bind=none", "--export=ALL", f"--ntasks={count}"]
    hosts = [group.host for group in job.groups for _ in range(group.count) if group.host]
    if hosts:
        line += ["--distribution=arbitrary", f"--nodelist={','.join(hosts)}"]
        line.append(f"--nodes={len(set(hosts))}")
    line += job.flags
    cases, first = [], 0
    for group in job.groups:
        ranks = "|".join(str(rank) for rank in range(first, first + group.count))
        binding = " ".join(bound(group, []))
        cases.append(f'{ranks}) exec {binding} "$@" ;;')
        first += group.count
    script = f'case "$SLURM_PROCID" in {" ".join(cases)} esac'
    return [*line, "sh", "-c", script, "sh", *job.program]
