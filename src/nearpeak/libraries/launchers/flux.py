# SPDX-License-Identifier: Apache-2.0
"""Flux's `flux run`, inside an instance of Flux (`flux alloc`, `flux batch`).

After flux-run(1), flux-shell-options(7), flux-hostlist(1), flux-environment(7) and RFC 34 of the
Flux framework.
"""

import json
import os
import socket
from itertools import pairwise
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.libraries.families import all_families
from nearpeak.libraries.launchers import Job
from nearpeak.libraries.library import Library
from nearpeak.machine.allocation import flux_hosts

PROGRAM = "flux"
RANK, LOCAL_RANK = "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID"
JOB = "a Flux instance alone, and this is none: start nearpeak in one (flux alloc or flux batch)"
# Plugins of Flux's shell by which ranks find each other instead of Flux's PMI.
PMIX, CRAY = "pmix", "cray-pals"


def in_job() -> bool:
    """True if this process is in an instance; elsewhere `flux run` would ask the system's one."""
    return bool(os.environ.get("FLUX_URI"))


def arguments(library: Library, job: Job) -> list[str]:
    """One `flux run` on whole nodes, all of whose CPUs and GPUs its tasks may use.

    UserError where hosts have different numbers of ranks, or are not of the instance.
    """
    hosts = job.hosts or [(socket.gethostname(), len(job.ranks))]
    counts: dict[str, int] = {}
    for host, count in hosts:
        counts[host] = counts.get(host, 0) + count
    per_host, *others = set(counts.values())
    if others:
        raise UserError(
            "flux run starts as many ranks on each host: give all hosts the same number"
        )
    line = [str(library.launcher), "run", f"--nodes={len(counts)}", "--exclusive"]
    line += [f"--tasks-per-node={per_host}"]
    if job.hosts:
        order = _in_order(library.launcher, list(counts))
        line.append(f"--requires=hosts:{','.join(order)}")
        blocks = [[order.index(host), 1, count, 1] for host, count in hosts]
        if any(block[0] >= later[0] for block, later in pairwise(blocks)):
            line.append(f"--taskmap=manual:{json.dumps(blocks, separators=(',', ':'))}")
    else:
        line.append(f"--requires=hosts:{hosts[0][0]}")
    line += ["--setopt=cpu-affinity=off", "--setopt=gpu-affinity=off"]
    if pmi := _pmi(library):
        line.append(f"--setopt=pmi={pmi}")
    return [*line, *job.flags, *job.bound(RANK)]


def _pmi(library: Library) -> str:
    """The PMI plugin; "": Flux's own PMI."""
    kinds = all_families()[library.family].pmi
    if library.family == "cray":
        return CRAY
    return PMIX if kinds[:1] == (PMIX,) else ""


def _in_order(flux: Path, hosts: list[str]) -> list[str]:
    """The hosts in the order of the instance, in which a job numbers them."""
    instance = flux_hosts(os.environ["FLUX_URI"], str(flux))
    for host in hosts:
        if host not in instance:
            raise UserError(
                f"host {host!r} is none of the Flux instance"
                f" ({','.join(instance) or 'it tells none'}):"
                " name hosts of it, as `flux hostlist instance` does"
            )
    return sorted(hosts, key=instance.index)
