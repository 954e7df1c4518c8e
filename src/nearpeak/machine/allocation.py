# SPDX-License-Identifier: Apache-2.0
"""The job of a workload manager that this process runs in: its nodes, and how long it may still
run. Of Flux and PBS by their documents alone; neither has been run."""

import functools
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from nearpeak.errors import UserError

LIMIT_SECONDS = 20.0  # for a command of a manager to answer
QUICK_SECONDS = 3.0  # where all else goes on without an answer
# For srun, whoever calls it, like mpirun: a step does not wait for others of the job to end.
SHARING_STEPS = {"SLURM_OVERLAP": "1"}
# Of the time that is left: for what comes behind the measuring, its report, and what it is late by.
RESERVE, LEAST_RESERVE_SECONDS = 0.1, 30.0
_GOING_ON = ("RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING", "STOPPED")
_ENDED_BEFORE_US = ("COMPLETING", "TIMEOUT", "CANCELLED", "NODE_FAIL", "PREEMPTED", "PENDING")
_WHY = {  # by Slurm's word for it
    "TimeLimit": "the job reached its time limit",
    "NodeDown": "a node of the job failed",
    "None": "the job was cancelled",
}
_LEFT = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", re.ASCII)  # days, hours, minutes, seconds
SLURM, FLUX, PBS = "Slurm", "Flux", "PBS"
UNLIMITED = 2**32 - 1  # seconds that Flux has left where there is no limit


@dataclass(frozen=True)
class Allocation:
    """A job: its id, and its nodes by the names that its manager has for them."""

    job: str
    nodes: tuple[str, ...]  # empty: the manager is not there to tell, as in a container
    here: str | None  # that of this host; None: it is none of them
    manager: str = SLURM

    def __str__(self) -> str:
        return f"job {self.job} ({','.join(self.nodes)})"


@dataclass(frozen=True)
class _Manager:
    """What there is to ask of a job."""

    job: Callable[[], str | None]  # its id; None: this process is in none
    nodes: Callable[[], tuple[str, ...]]
    left: Callable[[str], float | None]  # seconds; None: for ever, or nobody tells
    is_ending: Callable[[str], bool]
    why: Callable[[str], str | None]  # it is being ended; None: it is not, or nobody tells
    start: str  # how nearpeak is started on a node: the end of a sentence


def job() -> str | None:
    """The id of the job that this process runs in; None: in none."""
    name = manager()
    return None if name is None else _MANAGERS[name].job()


def mpi_types(srun: Path) -> list[str]:
    """The types of --mpi that Slurm's srun has; none where it does not say."""
    try:
        done = subprocess.run(
            [str(srun), "--mpi=list"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # where older ones print it
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^(?:srun:)?[ \t]*(\w+)$", done.stdout, re.MULTILINE)


def manager() -> str | None:
    """Whose job this process runs in: of one inside of another, that of the inner one."""
    return next((name for name, known in _MANAGERS.items() if known.job()), None)


def current() -> Allocation | None:
    """The job that this process runs in. UserError where it does not run on one of its nodes."""
    name = manager()
    if name is None:
        return None
    known = _MANAGERS[name]
    listed = (os.environ.get("SLURM_JOB_NODELIST", ""), os.environ.get("PBS_NODEFILE", ""))
    found = _asked(name, known.job() or "", listed)
    if found.nodes and found.here is None:
        raise UserError(
            f"this host, {socket.gethostname()}, is no node of {found}: start nearpeak on one, "
            f"{known.start}"
        )
    return found


def has_nodes() -> bool:
    """Whether its launchers are to reach its nodes. UserError as `current`."""
    found = current()
    return found is not None and bool(found.nodes)


def by_srun() -> bool:
    """Whether its nodes are reached by srun. UserError as `current`."""
    return manager() == SLURM and has_nodes()


def hosts_outside() -> set[str]:
    """Outside of any job: the hosts of the cluster whose Slurm answers here; none elsewhere."""
    if manager() is not None:
        return set()
    told = ["sinfo", "--noheader", "--all", "--Node", "--format=%n"]
    return set(_told(told, QUICK_SECONDS).split())


def is_this(hosts: Collection[str]) -> bool:
    """Whether this host is one of these."""
    return any(name in hosts for name in _names())


def seconds_left() -> float | None:
    """How long the job may still run; None: for ever, or nobody tells."""
    name, number = manager(), job()
    return None if name is None or number is None else _MANAGERS[name].left(number)


def is_ending() -> bool:
    """Whether the job is being ended: cancelled, out of time, or without a node that it had."""
    name, number = manager(), job()
    return name is not None and number is not None and _MANAGERS[name].is_ending(number)


def why_ending() -> str | None:
    """Why the job is being ended, for people; None: it is not, or nobody tells within a few
    seconds."""
    name, number = manager(), job()
    return None if name is None or number is None else _MANAGERS[name].why(number)


def measuring_seconds() -> float | None:
    """How long may be measured in the job, so that a report can follow; None: as long as one likes.
    UserError where there is no time for either."""
    left = seconds_left()
    if left is None:
        return None
    if left <= LEAST_RESERVE_SECONDS:
        raise UserError(f"job {job()} ends in {left:.0f} s: ask for a longer one, and go on there")
    return left - max(RESERVE * left, LEAST_RESERVE_SECONDS)


def parse_left(text: str) -> float | None:
    """The seconds of squeue's D-HH:MM:SS, HH:MM:SS or MM:SS; None of its words."""
    found = _LEFT.fullmatch(text.strip())
    if found is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@functools.cache
def _asked(name: str, number: str, _listed: tuple[str, str]) -> Allocation:
    """Once in a job: its nodes stay."""
    nodes = _MANAGERS[name].nodes()
    mine = [os.environ.get("SLURMD_NODENAME", ""), *_names()]
    here = next((known for known in mine if known in nodes), None)
    if nodes and here is None and name == SLURM:  # nodes need not be called like their hosts
        told = _told(["scontrol", "show", "node", ",".join(nodes), "--oneliner"])
        pairs = re.findall(r"NodeName=(\S+) .*?NodeHostName=(\S+)", told)
        here = next((node for node, host in pairs if host in _names()), None)
    if here is None:  # PBS writes whole names, and hosts may call themselves by the first part
        short = {node.partition(".")[0]: node for node in nodes}
        here = next((short[known] for known in mine if known in short), None)
    return Allocation(number, nodes, here, name)


def _slurm_nodes() -> tuple[str, ...]:
    listed = os.environ.get("SLURM_JOB_NODELIST")
    return tuple(_told(["scontrol", "show", "hostnames", listed]).split()) if listed else ()


def _slurm_left(number: str) -> float | None:
    return parse_left(_told(["squeue", "--noheader", f"--jobs={number}", "--format=%L"]))


def _slurm_ends(number: str) -> bool:
    told = _told(["squeue", "--noheader", f"--jobs={number}", "--states=all", "--format=%T"])
    return told.strip() not in ("", *_GOING_ON)


def _slurm_why(number: str) -> str | None:
    """scontrol(1): the state of a job whose processes end is COMPLETING, whatever has ended it."""
    told = _told(["scontrol", "show", "job", number, "--oneliner"], QUICK_SECONDS)
    found = dict(re.findall(r"(?:^| )(\w+)=(\S*)", told))
    if found.get("JobState") not in _ENDED_BEFORE_US:
        return None
    if int(found.get("Restarts", "0")) > int(os.environ.get("SLURM_RESTART_COUNT", "0")):
        return "the job was put back into the queue"
    if found.get("PreemptTime", "None") != "None":
        return "the job was preempted"
    return _WHY.get(found.get("Reason", ""))


def _flux_job() -> str | None:
    """Of the instance that `flux alloc` or `flux batch` has begun, or the job of it that this is in
    (flux-environment(7), which names `flux getattr jobid` for the former)."""
    uri = os.environ.get("FLUX_URI")
    return (os.environ.get("FLUX_JOB_ID") or _flux_id(uri)) if uri else None


@functools.cache
def _flux_id(uri: str) -> str:
    return _told(["flux", "getattr", "jobid"]).strip() or uri


def _flux_nodes() -> tuple[str, ...]:
    """flux-hostlist(1): `instance`, the hosts of the broker."""
    return tuple(dict.fromkeys(_told(["flux", "hostlist", "--expand", "instance"]).split()))


def _flux_left(_number: str) -> float | None:
    """flux-job(1), TIMELEFT: whole seconds of the job that this runs in."""
    told = _told(["flux", "job", "timeleft"]).strip()
    return float(told) if told.isdecimal() and int(told) < UNLIMITED else None


def _flux_ends(number: str) -> bool:
    """flux-job(1), TIMELEFT: 0 of one that has expired or is complete."""
    return _flux_left(number) == 0


def _pbs_nodes() -> tuple[str, ...]:
    """qsub(1B): PBS_NODEFILE names a file of the job's nodes, where sites show some repeated."""
    try:
        lines = Path(os.environ.get("PBS_NODEFILE", "")).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(dict.fromkeys(lines.split()))


def _pbs_job(number: str) -> dict[str, str]:
    """qstat(1B): attributes as `NAME = VALUE`, long ones on several lines that begin with a tab."""
    told = _told(["qstat", "-f", number]).replace("\n\t", "")
    pairs = (line.strip().partition(" = ") for line in told.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def _pbs_left(number: str) -> float | None:
    """pbs_job_attributes(7B): `stime`, when it began; what it has used is told late."""
    found = _pbs_job(number)
    whole = parse_left(found.get("Resource_List.walltime", ""))
    try:
        began = time.mktime(time.strptime(found.get("stime", ""), "%a %b %d %H:%M:%S %Y"))
    except ValueError:
        used = parse_left(found.get("resources_used.walltime", ""))
        return None if whole is None or used is None else max(whole - used, 0.0)
    return None if whole is None else max(began + whole - time.time(), 0.0)


def _pbs_ends(number: str) -> bool:
    """pbs_job_attributes(7B), `job_state`: exiting, finished, or a subjob that has ended."""
    return _pbs_job(number).get("job_state") in ("E", "F", "X")


_MANAGERS = {
    FLUX: _Manager(
        job=_flux_job,
        nodes=_flux_nodes,
        left=_flux_left,
        is_ending=_flux_ends,
        why=lambda _: None,
        start="in a batch script (flux batch), or in `flux alloc`",
    ),
    SLURM: _Manager(
        job=lambda: os.environ.get("SLURM_JOB_ID") or None,
        nodes=_slurm_nodes,
        left=_slurm_left,
        is_ending=_slurm_ends,
        why=_slurm_why,
        start="in a batch script (sbatch), or by `srun --nodes=1 --ntasks=1 --pty`",
    ),
    PBS: _Manager(
        job=lambda: os.environ.get("PBS_JOBID") or None,
        nodes=_pbs_nodes,
        left=_pbs_left,
        is_ending=_pbs_ends,
        why=lambda _: None,
        start="in a batch script (qsub)",
    ),
}


def _names() -> list[str]:
    """Of this host, whole and without its domain."""
    whole = socket.gethostname()
    return [whole, whole.partition(".")[0]]


def _told(argv: list[str], limit_seconds: float = LIMIT_SECONDS) -> str:
    """What a command of a manager prints; "" where there is none, or it fails."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_seconds,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
