# SPDX-License-Identifier: Apache-2.0
"""The job of a workload manager that this process runs in: its nodes and its remaining time.

The code for PBS follows its documents; it has not been run with it.
"""

import functools
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearpeak.asking import answer_of
from nearpeak.errors import UserError

LIMIT_SECONDS = 20.0  # for a command of a manager to answer
QUICK_SECONDS = 3.0  # where all else goes on without an answer
# For srun, also when mpirun calls it: a step does not wait for other steps of the job to end.
SHARING_STEPS = {"SLURM_OVERLAP": "1"}
# Share and least part of the remaining time that are kept for the report and for delays.
RESERVE, LEAST_RESERVE_SECONDS = 0.1, 30.0
_GOING_ON = ("RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING", "STOPPED")
_ENDED_BEFORE_US = ("COMPLETING", "TIMEOUT", "CANCELLED", "NODE_FAIL", "PREEMPTED", "PENDING")
_WHY = {  # by Slurm's Reason
    "TimeLimit": "the job reached its time limit",
    "NodeDown": "a node of the job failed",
    "None": "the job was cancelled",
}
_LEFT = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", re.ASCII)  # days, hours, minutes, seconds
SLURM, FLUX, PBS = "Slurm", "Flux", "PBS"
UNLIMITED = 2**32 - 1  # seconds that Flux has left where there is no limit


@dataclass(frozen=True)
class Allocation:
    """A job: its id, and its nodes by their names in the workload manager."""

    job: str
    nodes: tuple[str, ...]  # empty: the manager does not answer, as in a container
    here: str | None  # the node that is this host; None: it is none of them
    manager: str = SLURM

    def __str__(self) -> str:
        return f"job {self.job} ({','.join(self.nodes)})"


@dataclass(frozen=True)
class _Manager:
    """The functions that ask a workload manager about a job."""

    job: Callable[[], str | None]  # its id; None: this process is in none
    nodes: Callable[[], tuple[str, ...]]
    left: Callable[[str], float | None]  # seconds; None: no limit, or not known
    is_ending: Callable[[str], bool]
    why: Callable[[str], str | None]  # the reason of its end; None: it goes on, or not known
    start: str  # the end of a sentence that says how to start nearpeak on a node


def job() -> str | None:
    """The id of the job that this process runs in; None: in none."""
    return _current()[1] or None


def mpi_types(srun: Path) -> list[str]:
    """The types of --mpi that Slurm's srun has; none where it does not list them."""
    try:
        done = subprocess.run(
            [str(srun), "--mpi=list"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # older versions print it there
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^(?:srun:)?[ \t]*(\w+)$", done.stdout, re.MULTILINE)


def manager() -> str | None:
    """The workload manager of the job that this process runs in, the innermost one."""
    return _current()[0] or None


def _current() -> tuple[str, str]:
    """The workload manager and the id of the job that this process runs in; empty in none."""
    jobs = ((name, scheduler.job() or "") for name, scheduler in _MANAGERS.items())
    return next(((name, number) for name, number in jobs if number), ("", ""))


def current() -> Allocation | None:
    """The job that this process runs in. UserError where it does not run on one of its nodes."""
    name, number = _current()
    if not name:
        return None
    listed = (os.environ.get("SLURM_JOB_NODELIST", ""), os.environ.get("PBS_NODEFILE", ""))
    allocation = _allocation(name, number, listed)
    if allocation.nodes and allocation.here is None:
        raise UserError(
            f"this host, {socket.gethostname()}, is no node of {allocation}: start nearpeak on "
            f"one, {_MANAGERS[name].start}"
        )
    return allocation


def has_nodes() -> bool:
    """True if the job's launchers must reach its nodes. UserError as `current`."""
    allocation = current()
    return allocation is not None and bool(allocation.nodes)


def by_srun() -> bool:
    """True if launchers reach the job's nodes by srun. UserError as `current`."""
    return manager() == SLURM and has_nodes()


def flux_broker(host: str) -> int | None:
    """The rank of the first broker on a host of the Flux instance that this process runs in; None:
    there is none."""
    hosts = flux_hosts(os.environ.get("FLUX_URI", "")) if manager() == FLUX else []
    return hosts.index(host) if host in hosts else None


def hosts_outside() -> set[str]:
    """The hosts of the cluster whose Slurm answers outside of any job; none elsewhere."""
    if manager() is not None:
        return set()
    command = ["sinfo", "--noheader", "--all", "--Node", "--format=%n"]
    return set(_output(command, QUICK_SECONDS).split())


def topology() -> str:
    """The switches or blocks of the cluster as Slurm prints them; empty where it has none."""
    return _output(["scontrol", "show", "topology"], QUICK_SECONDS)


def is_this(hosts: Collection[str]) -> bool:
    """True if this host is one of `hosts`."""
    return any(name in hosts for name in _names())


def seconds_left() -> float | None:
    """The remaining time of the job; None: no limit, or not known."""
    name, number = _current()
    return _MANAGERS[name].left(number) if name else None


def is_ending() -> bool:
    """True if the job is being ended: cancelled, out of time, or after it lost a node."""
    name, number = _current()
    return bool(name) and _MANAGERS[name].is_ending(number)


def why_ending() -> str | None:
    """The reason why the job is being ended, for people; None: it goes on, or the workload manager
    does not answer within a few seconds."""
    name, number = _current()
    return _MANAGERS[name].why(number) if name else None


def measuring_seconds() -> float | None:
    """The time to measure in the job that leaves time for a report; None: no limit.

    UserError where there is no time for either.
    """
    left = seconds_left()
    if left is None:
        return None
    if left <= LEAST_RESERVE_SECONDS:
        raise UserError(f"job {job()} ends in {left:.0f} s: ask for a longer one, and go on there")
    return left - max(RESERVE * left, LEAST_RESERVE_SECONDS)


def parse_left(text: str) -> float | None:
    """The seconds of squeue's D-HH:MM:SS, HH:MM:SS or MM:SS; None for another text."""
    match = _LEFT.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@functools.cache
def _allocation(name: str, number: str, _listed: tuple[str, str]) -> Allocation:
    """Asks once in a job, as its nodes stay."""
    nodes = _MANAGERS[name].nodes()
    mine = [os.environ.get("SLURMD_NODENAME", ""), *_names()]
    by_name = {node: node for node in nodes}
    if name == SLURM and not by_name.keys() & mine:  # nodes need not be called like their hosts
        by_name |= _by_hostname(nodes)
    # PBS writes names with a domain, and hostnames may lack it.
    short = {node.partition(".")[0]: node for node in nodes}
    candidates = [*map(by_name.get, mine), *map(short.get, mine)]
    return Allocation(number, nodes, next(filter(None, candidates), None), name)


def _by_hostname(nodes: tuple[str, ...]) -> dict[str, str]:
    printed = _output(["scontrol", "show", "node", ",".join(nodes), "--oneliner"]) if nodes else ""
    pairs = re.findall(r"NodeName=(\S+) .*?NodeHostName=(\S+)", printed)
    return {host: node for node, host in reversed(pairs)}


def _slurm_nodes() -> tuple[str, ...]:
    listed = os.environ.get("SLURM_JOB_NODELIST")
    return tuple(_output(["scontrol", "show", "hostnames", listed]).split()) if listed else ()


def _slurm_left(number: str) -> float | None:
    return parse_left(_output(["squeue", "--noheader", f"--jobs={number}", "--format=%L"]))


def _slurm_ends(number: str) -> bool:
    state = _output(["squeue", "--noheader", f"--jobs={number}", "--states=all", "--format=%T"])
    return state.strip() not in ("", *_GOING_ON)


def _slurm_why(number: str) -> str | None:
    """scontrol(1): a job whose processes end is COMPLETING, for whatever reason it ends."""
    printed = _output(["scontrol", "show", "job", number, "--oneliner"], QUICK_SECONDS)
    fields = dict(re.findall(r"(?:^| )(\w+)=(\S*)", printed))
    if fields.get("JobState") not in _ENDED_BEFORE_US:
        return None
    if int(fields.get("Restarts", "0")) > int(os.environ.get("SLURM_RESTART_COUNT", "0")):
        return "the job was put back into the queue"
    if fields.get("PreemptTime", "None") != "None":
        return "the job was preempted"
    return _WHY.get(fields.get("Reason", ""))


def _flux_job() -> str | None:
    """The job inside of the Flux instance, else the instance of `flux alloc` or `flux batch`.

    flux-environment(7) names `flux getattr jobid` for the latter.
    """
    uri = os.environ.get("FLUX_URI")
    return (os.environ.get("FLUX_JOB_ID") or _flux_id(uri)) if uri else None


@functools.cache
def _flux_id(uri: str) -> str:
    return _output(["flux", "getattr", "jobid"]).strip() or uri


@functools.cache
def flux_hosts(_uri: str, program: str = "flux") -> Sequence[str]:
    """The hosts of the brokers of the Flux instance with this address, in the order of these.

    Asks once: they stay, and the instance does not answer while it ends. flux-hostlist(1):
    `instance`.
    """
    return _output([program, "hostlist", "--expand", "instance"]).split()


def _flux_nodes() -> tuple[str, ...]:
    """A host may have several brokers."""
    return tuple(dict.fromkeys(flux_hosts(os.environ["FLUX_URI"])))


def _flux_left(_number: str) -> float | None:
    """flux-job(1), TIMELEFT: whole seconds of the job that this process runs in."""
    seconds = _output(["flux", "job", "timeleft"]).strip()
    return float(seconds) if seconds.isdecimal() and int(seconds) < UNLIMITED else None


def _flux_ends(number: str) -> bool:
    """flux-job(1), TIMELEFT: 0 for a job that has expired or is complete."""
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
    printed = _output(["qstat", "-f", number]).replace("\n\t", "")
    pairs = (line.strip().partition(" = ") for line in printed.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def _pbs_left(number: str) -> float | None:
    """pbs_job_attributes(7B): `stime`, its start; PBS updates its used time late."""
    attributes = _pbs_job(number)
    limit = parse_left(attributes.get("Resource_List.walltime", ""))
    try:
        began = time.mktime(time.strptime(attributes.get("stime", ""), "%a %b %d %H:%M:%S %Y"))
        used: float | None = time.time() - began
    except ValueError:
        used = parse_left(attributes.get("resources_used.walltime", ""))
    return None if limit is None or used is None else max(limit - used, 0.0)


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
    """This host's name, with and without its domain."""
    hostname = socket.gethostname()
    return [hostname, hostname.partition(".")[0]]


def _output(argv: list[str], limit_seconds: float = LIMIT_SECONDS) -> str:
    """The output of a workload manager's command; "" where it is missing or fails."""
    return answer_of(argv, limit_seconds, {**os.environ, "LC_ALL": "C"})
