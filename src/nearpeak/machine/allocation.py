# SPDX-License-Identifier: Apache-2.0
"""The job of Slurm that this process runs in: its nodes, and how long it may still run."""

import functools
import os
import re
import socket
import subprocess
from dataclasses import dataclass

from nearpeak.errors import UserError

LIMIT_SECONDS = 20.0  # for a command of Slurm to answer
# For srun, whoever calls it, like mpirun: a step does not wait for others of the job to end.
SHARING_STEPS = {"SLURM_OVERLAP": "1"}
# Of the time that is left: for what comes behind the measuring, its report, and what it is late by.
RESERVE, LEAST_RESERVE_SECONDS = 0.1, 30.0
_GOING_ON = ("RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING", "STOPPED")
_LEFT = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", re.ASCII)  # days, hours, minutes, seconds


@dataclass(frozen=True)
class Allocation:
    """A job: its id, and its nodes by the names that Slurm has for them."""

    job: str
    nodes: tuple[str, ...]  # empty: Slurm is not there to tell, as in a container
    here: str | None  # that of this host; None: it is none of them

    def __str__(self) -> str:
        return f"job {self.job} ({','.join(self.nodes)})"


def job() -> str | None:
    """The id of the job that this process runs in; None: in none."""
    return os.environ.get("SLURM_JOB_ID") or None


def current() -> Allocation | None:
    """The job that this process runs in. UserError where it does not run on one of its nodes."""
    number = job()
    if number is None:
        return None
    found = _asked(number, os.environ.get("SLURM_JOB_NODELIST", ""))
    if found.nodes and found.here is None:
        raise UserError(
            f"this host, {socket.gethostname()}, is no node of {found}: start nearpeak on one, in "
            f"a batch script (sbatch), or by `srun --nodes=1 --ntasks=1 --pty`"
        )
    return found


def has_nodes() -> bool:
    """Whether its nodes are reached by srun. UserError as `current`."""
    found = current()
    return found is not None and bool(found.nodes)


def seconds_left() -> float | None:
    """How long the job may still run; None: for ever, or nobody tells."""
    number = job()
    if number is None:
        return None
    return parse_left(_told(["squeue", "--noheader", f"--jobs={number}", "--format=%L"]))


def is_ending() -> bool:
    """Whether the job is being ended: cancelled, out of time, or without a node that it had."""
    number = job()
    if number is None:
        return False
    told = _told(["squeue", "--noheader", f"--jobs={number}", "--states=all", "--format=%T"])
    return told.strip() not in ("", *_GOING_ON)


def measuring_seconds() -> float | None:
    """How long may be measured in the job, so that a report can follow; None: as long as one likes.
    UserError where there is no time for either."""
    left = seconds_left()
    if left is None:
        return None
    if left <= LEAST_RESERVE_SECONDS:
        raise UserError(
            f"job {job()} ends in {left:.0f} s: ask for a longer one (--time), and go on there"
        )
    return left - max(RESERVE * left, LEAST_RESERVE_SECONDS)


def parse_left(text: str) -> float | None:
    """The seconds of squeue's D-HH:MM:SS, HH:MM:SS or MM:SS; None of its words."""
    found = _LEFT.fullmatch(text.strip())
    if found is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@functools.cache
def _asked(number: str, listed: str) -> Allocation:
    nodes = tuple(_told(["scontrol", "show", "hostnames", listed]).split()) if listed else ()
    mine = [os.environ.get("SLURMD_NODENAME", ""), *_names()]
    here = next((name for name in mine if name in nodes), None)
    if nodes and here is None:  # nodes need not be called like their hosts
        told = _told(["scontrol", "show", "node", ",".join(nodes), "--oneliner"])
        pairs = re.findall(r"NodeName=(\S+) .*?NodeHostName=(\S+)", told)
        here = next((name for name, host in pairs if host in _names()), None)
    return Allocation(number, nodes, here)


def _names() -> list[str]:
    """Of this host, whole and without its domain."""
    whole = socket.gethostname()
    return [whole, whole.partition(".")[0]]


def _told(argv: list[str]) -> str:
    """What a command of Slurm prints; "" where there is none, or it fails."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
