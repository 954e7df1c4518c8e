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


class Asked(NamedTuple):
    """What a script asks of Slurm, and the folder that what it runs writes into."""

    seconds: float  # to measure in
    nodes: int
    hosts: Sequence[str]  # which ones; none: whichever it gets
    folder: Path
    begun: str  # the file in it by which it is known to have begun


def of_study(options: Options, folder: Path) -> Asked:
    """For the study of these options. UserError for one without a budget, which the job's time
    follows from."""
    budget = budget_of(options)
    if budget is None:
        raise UserError("--sbatch asks for a job by the time of the study: give it --budget")
    return Asked(budget, _nodes(options), options.hosts, folder, PLAN)


def check_paths(options: Options, required: Sequence[str]) -> None:
    """UserError for paths that are required, and that a job of so many nodes as others take would
    not measure."""
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
    """Whether a path with this id is between nodes."""
    return "two-nodes" in path or _NODES.search(path) is not None


def job_script(asked: Asked, command: Sequence[str], here: Path) -> str:
    """The script for `command`, of which the second word names what nearpeak does, when it is run
    in `here`. Where that has begun, it completes it. UserError for a host that is none, and could
    ask Slurm for something else."""
    seconds = (asked.seconds + PREPARE_SECONDS) / (1 - RESERVE) + LEAST_RESERVE_SECONDS
    minutes = math.ceil(seconds / 60)
    # A job that is put back into the queue writes into the same file.
    asking = [JOB_NAME, "open-mode=append", "exclusive", f"nodes={asked.nodes}"]
    asking += [f"nodelist={','.join(map(check_host, asked.hosts))}"] if asked.hosts else []
    asking.append(f"time={minutes // 60:02d}:{minutes % 60:02d}:00")
    lines = "\n".join(f"#SBATCH --{words}" for words in asking)
    refusing = _on_too_few(asked.nodes) if asked.nodes > 1 else ""
    resume = [*command[:2], "--resume", "-o", str(asked.folder)]
    return f"""\
#!/bin/sh
# Submitted again, it completes what the end of a job has cut short; of several nodes, on the same
# ones (sbatch --nodelist). On more nodes: sbatch --nodes=N
{lines}
{refusing}cd {shlex.quote(str(here))} || exit
if [ -e {shlex.quote(str(asked.folder / asked.begun))} ]; then
  exec {shlex.join(resume)}
fi
exec {shlex.join(command)}
"""


def _on_too_few(nodes: int) -> str:
    """What ends a job of fewer nodes, which `sbatch --nodes` asks for whatever stands in the
    script: it would measure something else."""
    return f"""\
if [ "${{SLURM_JOB_NUM_NODES:-{nodes}}}" -lt {nodes} ]; then
  echo "nearpeak: this is for {nodes} nodes, and job $SLURM_JOB_ID has $SLURM_JOB_NUM_NODES:" \\
    "submit it with --nodes={nodes}, or write a script for fewer" >&2
  exit 2
fi
"""


def _nodes(options: Options) -> int:
    """Of the hosts, else of the paths that are named (`host-host two-nodes`, `host x3 3-nodes`)."""
    texts = [*options.paths, *options.require]
    of_paths = [int(found[1]) for text in texts for found in _NODES.finditer(text)]
    two = any("two-nodes" in text for text in texts)
    return max(1, len(options.hosts), 2 if two else 1, *of_paths)


def without(words: Sequence[str], option: str) -> list[str]:
    """A command line without an option and its value."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == option:
            skip = True
        elif not word.startswith(f"{option}="):
            kept.append(word)
    return kept
