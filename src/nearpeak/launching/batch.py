# SPDX-License-Identifier: Apache-2.0
"""The script of a job of Slurm that runs a study, or measures nodes."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nearpeak.machine.allocation import LEAST_RESERVE_SECONDS, RESERVE
from nearpeak.terms.command_words import check_host

JOB_NAME = "job-name=nearpeak"  # in every script
PREPARE_SECONDS = 120.0  # to find the libraries and to try what starts them


class JobRequest(NamedTuple):
    """The request of a script to Slurm, and the folder that its command writes into."""

    seconds: float  # to measure in
    nodes: int
    hosts: Sequence[str]  # empty: any
    folder: Path
    begun: str  # a file in it: the command has begun if it exists
    gpus: int = 0  # of each node


def job_script(request: JobRequest, command: Sequence[str], working_folder: Path) -> str:
    """Returns the script that runs `command` in `working_folder`; its second word is the
    subcommand. If the command has begun before, the script completes it. UserError for an invalid
    host, which could ask Slurm for something else."""
    seconds = (request.seconds + PREPARE_SECONDS) / (1 - RESERVE) + LEAST_RESERVE_SECONDS
    minutes = math.ceil(seconds / 60)
    # A job that is put back into the queue writes into the same file.
    asking = [JOB_NAME, "open-mode=append", "exclusive", f"nodes={request.nodes}"]
    asking += [f"nodelist={','.join(map(check_host, request.hosts))}"] if request.hosts else []
    asking += [f"gpus-per-node={request.gpus}"] if request.gpus else []
    asking.append(f"time={minutes // 60:02d}:{minutes % 60:02d}:00")
    lines = "\n".join(f"#SBATCH --{option}" for option in asking)
    refusing = _on_too_few(request.nodes) if request.nodes > 1 else ""
    resume = [*command[:2], "--resume", "-o", str(request.folder)]
    return f"""\
#!/bin/sh
# Submitted again, it completes what the end of a job has cut short; of several nodes, on the same
# ones (sbatch --nodelist). On more nodes: sbatch --nodes=N
{lines}
{refusing}cd {shlex.quote(str(working_folder))} || exit
if [ -e {shlex.quote(str(request.folder / request.begun))} ]; then
  exec {shlex.join(resume)}
fi
exec {shlex.join(command)}
"""


def _on_too_few(nodes: int) -> str:
    """Returns the lines that end a job of fewer nodes, as `sbatch --nodes` overrides the script: it
    would measure something else."""
    return f"""\
if [ "${{SLURM_JOB_NUM_NODES:-{nodes}}}" -lt {nodes} ]; then
  echo "nearpeak: this is for {nodes} nodes, and job $SLURM_JOB_ID has $SLURM_JOB_NUM_NODES:" \\
    "submit it with --nodes={nodes}, or write a script for fewer" >&2
  exit 2
fi
"""


def without(command: Sequence[str], option: str) -> list[str]:
    """Returns a command line without an option and its value."""
    kept: list[str] = []
    skip = False
    for word in command:
        if skip:
            skip = False
        elif word == option:
            skip = True
        elif not word.startswith(f"{option}="):
            kept.append(word)
    return kept
