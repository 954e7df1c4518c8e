# SPDX-License-Identifier: Apache-2.0
"""Open MPI's mpirun: PRRTE since version 5, ORTE before, which differs in few words."""

import os

from nearpeak.libraries.launchers import Job, bound
from nearpeak.libraries.model import Library


def arguments(library: Library, job: Job) -> list[str]:
    """mpirun with the groups as its application contexts."""
    line = [str(library.launcher)]
    if os.geteuid() == 0:
        line.append("--allow-run-as-root")
    line += ["--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"]
    if job.remote_shell:
        old = library.family == "spectrum"
        old = old or library.version.startswith(("1.", "2.", "3.", "4."))
        line += ["--mca", "plm_rsh_agent"] if old else ["--prtemca", "plm_ssh_agent"]
        line.append(job.remote_shell)
    for name in job.env:
        line += ["-x", name]
    line += job.flags
    for index, group in enumerate(job.groups):
        line += [":"] if index else []
        line += ["-n", str(group.count)]
        if group.host:
            # The number of slots: with fewer than ranks, Open MPI yields the CPU while it waits.
            line += ["--host", f"{group.host}:{job.ranks_on(group.host)}"]
        line += bound(group, job.program)
    return line
