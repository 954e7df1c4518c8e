# SPDX-License-Identifier: Apache-2.0
"""The script of a job of Slurm that runs a study, or measures nodes."""

import math
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.machine.allocation import LEAST_RESERVE_SECONDS, RESERVE
from nearpeak.study.options import Options
from nearpeak.study.planning import budget_of
from nearpeak.terms.command_words import check_host
from nearpeak.terms.study_files import PLAN

_NODES = re.compile(r"\b(\d{1,4})-nodes\b")
JOB_NAME = "job-name=nearpeak"  # in every script
PREPARE_SECONDS = 120.0  # to find the libraries and to try what starts them


class JobRequest(NamedTuple):
    """The request of a script to Slurm, and the folder that its command writes into."""

    seconds: float  # to measure in
    nodes: int
    hosts: Sequence[str]  # empty: any
    folder: Path
    begun: str  # a file in it: the command has begun if it exists


def of_study(options: Options, folder: Path) -> JobRequest:
    """Returns the request for the study of these options. UserError for one without a budget, which
    the job's time follows from."""
    budget = budget_of(options)
    if budget is None:
        raise UserError("--sbatch asks for a job by the time of the study: give it --budget")
    return JobRequest(budget, _nodes(options), options.hosts, folder, PLAN)


def check_paths(options: Options, required: Sequence[str]) -> None:
    """UserError for required paths that a job of so many nodes, as other paths take, would not
    measure."""
    nodes, named = _nodes(options), options.paths
    for path in required:
        if path in named:
            continue
        if named:
            raise UserError(f"--require: {path!r} is none of the paths of --paths: name it there")
        if nodes > 1 and not between_nodes(path):
            both = ",".join(dict.fromkeys([*filter(between_nodes, required), path]))
            raise UserError(
                f"--require: {path!r} is within a node, and the job is of {nodes}, which measures"
                " such a path only where it is named: write a script for each of the two, or name"
                f" all paths with --paths {shlex.quote(both)}"
            )


def between_nodes(path: str) -> bool:
    """True if a path with this id is between nodes."""
    return "two-nodes" in path or _NODES.search(path) is not None


def job_script(request: JobRequest, command: Sequence[str], working_folder: Path) -> str:
    """Returns the script that runs `command` in `working_folder`; its second word is the
    subcommand. If the command has begun before, the script completes it. UserError for an invalid
    host, which could ask Slurm for something else."""
    seconds = (request.seconds + PREPARE_SECONDS) / (1 - RESERVE) + LEAST_RESERVE_SECONDS
    minutes = math.ceil(seconds / 60)
    # A job that is put back into the queue writes into the same file.
    asking = [JOB_NAME, "open-mode=append", "exclusive", f"nodes={request.nodes}"]
    asking += [f"nodelist={','.join(map(check_host, request.hosts))}"] if request.hosts else []
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


def _nodes(options: Options) -> int:
    """Returns the number of hosts, else that of the named paths (`host-host two-nodes`, `host x3
    3-nodes`)."""
    texts = [*options.paths, *options.require]
    of_paths = [int(match[1]) for text in texts for match in _NODES.finditer(text)]
    two = any("two-nodes" in text for text in texts)
    return max(1, len(options.hosts), 2 if two else 1, *of_paths)


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
