# SPDX-License-Identifier: Apache-2.0
"""The job of Slurm that a study with given options asks for."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.launching.batch import JobRequest
from nearpeak.planning.options import Options
from nearpeak.planning.usual import budget_of
from nearpeak.terms.path import is_named
from nearpeak.terms.study_files import PLAN

_NODES = re.compile(r"\b(\d{1,4})-nodes\b")


def of_study(options: Options, folder: Path) -> JobRequest:
    """Returns the request for the study of these options. UserError for one without a budget, which
    the job's time follows from."""
    budget = budget_of(options)
    if budget is None:
        raise UserError("--sbatch asks for a job by the time of the study: give it --budget")
    return JobRequest(budget, _nodes(options), options.hosts, folder, PLAN)


def check_paths(options: Options, required: Sequence[str]) -> None:
    """UserError for required paths that the job would not measure with the nodes that its other
    paths take."""
    nodes, named = _nodes(options), options.paths
    for path in required:
        if any(is_named(name, path) for name in named):
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


def _nodes(options: Options) -> int:
    """Returns the number of hosts, else that of the named paths (`host-host two-nodes`, `host x3
    3-nodes`)."""
    texts = [*options.paths, *options.require]
    all_paths = ",".join(texts).replace("two-nodes", "2-nodes")
    return max(1, len(options.hosts), *map(int, _NODES.findall(all_paths)))
