# SPDX-License-Identifier: Apache-2.0
"""The script of a job of Slurm that runs a study."""

import math
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.machine.allocation import LEAST_RESERVE_SECONDS, RESERVE
from nearpeak.study.options import Options
from nearpeak.study.planning import budget_of
from nearpeak.terms.study_files import PLAN

_NODES = re.compile(r"\b(\d{1,4})-nodes\b")
PREPARE_SECONDS = 120.0  # to find the libraries and to try what starts them


def job_script(options: Options, command: Sequence[str], folder: Path, here: Path) -> str:
    """The script for `command`, which starts the study of these options in `folder` when it is run
    in `here`. Where the study has begun, it completes it.

    UserError for a study without a budget, which the job's time follows from.
    """
    budget = budget_of(options)
    if budget is None:
        raise UserError("--sbatch asks for a job by the time of the study: give it --budget")
    seconds = (budget + PREPARE_SECONDS) / (1 - RESERVE) + LEAST_RESERVE_SECONDS
    minutes = math.ceil(seconds / 60)
    asked = ["job-name=nearpeak", "exclusive", f"nodes={_nodes(options)}"]
    asked += [f"nodelist={','.join(options.hosts)}"] if options.hosts else []
    asked.append(f"time={minutes // 60:02d}:{minutes % 60:02d}:00")
    asking = "\n".join(f"#SBATCH --{words}" for words in asked)
    resume = [command[0], "study", "--resume", "-o", str(folder)]
    return f"""\
#!/bin/sh
# Submitted again, it completes the study that the end of a job has cut short. Between two nodes:
# sbatch --nodes=2
{asking}
cd {shlex.quote(str(here))} || exit
if [ -e {shlex.quote(str(folder / PLAN))} ]; then
  exec {shlex.join(resume)}
fi
exec {shlex.join(command)}
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
