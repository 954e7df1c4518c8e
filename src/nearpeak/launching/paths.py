# SPDX-License-Identifier: Apache-2.0
"""Chooses the data paths to measure, of a machine or between hosts, and the path of a launch."""

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Iterable, Sequence

import msgspec

from nearpeak.errors import UserError, closest
from nearpeak.launching.hosts import is_here
from nearpeak.machine import allocation
from nearpeak.machine.gpu_paths import path_of_rails
from nearpeak.machine.machine import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.places import Ranks, usable_cores
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import Ends, needs_gpu, rank_ends
from nearpeak.terms.command_words import check_host
from nearpeak.terms.logs import last_line
from nearpeak.terms.path import DataPath, NoPath
from nearpeak.watch import watched

HOST_SECONDS = 20.0  # for a host to answer
_SO_MANY = re.compile(r"(?:host|gpu) x(\d{1,6})(?: \d{1,5}-nodes| gpu-support)?", re.ASCII)


def hosts_of_job() -> list[str]:
    """Returns the nodes of a job of several, this one first, which are measured if no hosts are
    named; none elsewhere. UserError if this host is no node of the job."""
    job = allocation.current()
    if job is None or len(job.nodes) < 2:
        return []
    return [str(job.here), *(node for node in job.nodes if node != job.here)]


def check_hosts(hosts: Sequence[str], remote_shell: str | None, *, call: bool = True) -> list[str]:
    """Returns the hosts, this one first, where rank 0 is to run, the others in their order.

    UserError unless there are two or more (or none), this one among them, that can be reached;
    without `call` neither is tried. Nodes of a job are not called: launches show whether they reach
    them. UserError for a remote shell that calls nobody, and outside of a job changes nothing.
    """
    by_shell = remote_shell is not None or not allocation.has_nodes()
    if not hosts:
        if remote_shell is not None and not allocation.has_nodes():
            raise UserError(
                f"--remote-shell {remote_shell} calls other hosts, and there are none: name them"
                " with --hosts, or leave it out"
            )
        return []
    named = ",".join(hosts)
    if len(set(hosts)) < max(2, len(hosts)):
        raise UserError(f"--hosts {named}: name two different hosts or more, like --hosts a,b")
    for host in hosts:
        check_host(host)
    check_nodes(hosts, remote_shell)
    mine = [*filter(is_here, hosts)]
    if len(mine) > 1:
        raise UserError(f"--hosts {named}: {' and '.join(mine)} are both this host: name it once")
    if call and not mine:
        raise UserError(
            f"--hosts {named}: this host, {socket.gethostname()}, is none of them: start nearpeak "
            f"on one of them{_or_in_a_job()}"
        )
    others = [host for host in hosts if host not in mine]
    for host in others if call and by_shell else []:
        _call(host, remote_shell or "ssh")
    return mine + others


def check_same_hosts(hosts: Sequence[str], remote_shell: str | None) -> None:
    """Checks, as `check_hosts`, the hosts of a run that began on the first of them and continues
    there."""
    check_nodes(hosts, remote_shell, otherwise="")
    if hosts and check_hosts(hosts, remote_shell) != list(hosts):
        raise UserError(f"it was begun on {hosts[0]}, which is another host than this: go on there")


def _call(host: str, shell: str) -> None:
    """UserError where a host does not answer."""
    try:
        with watched.launch() as (marks, _):
            done = subprocess.run(
                [shell, host, "true"],
                env={**os.environ, **marks},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=HOST_SECONDS,
                check=False,
            )
        if done.returncode == 0:
            return
        reason = last_line(done.stderr, "no reason given")
    except subprocess.TimeoutExpired:
        reason = f"no answer within {HOST_SECONDS:.0f} s"
    except OSError as error:
        reason = f"{shell}: {error.strerror}"
    raise UserError(
        f"host {host!r} cannot be reached ({reason}): "
        f"make `{shell} {host} true` work without a password (--remote-shell names another "
        f"program){_or_in_a_job()}"
    )


def _or_in_a_job() -> str:
    """Returns the advice to start a job if Slurm has hosts and this is no job of it, as on a login
    node."""
    return ", or start it in a job (sbatch, salloc)" if allocation.hosts_outside() else ""


def check_nodes(
    hosts: Sequence[str],
    remote_shell: str | None,
    otherwise: str = ", or name nodes of this one",
) -> None:
    """UserError for a host that is no node of the job, in one whose hosts srun reaches.

    `otherwise`: what else may be done.
    """
    job = allocation.current()
    if remote_shell is not None or job is None or not allocation.by_srun():
        return
    if strangers := [host for host in hosts if host not in job.nodes]:
        raise UserError(
            f"host {strangers[0]!r} is no node of {job}: ask for a job with it (--nodelist="
            f"{','.join(hosts)}){otherwise}"
        )


def check_ranks(ranks: Ranks, wanted: Sequence[str]) -> None:
    """UserError where more ranks than cores may share them, and neither a number of ranks was asked
    for nor is one named by the paths that are wanted."""
    if ranks.oversubscribe and not (ranks.counts or _named_counts(wanted)):
        raise UserError(
            "--oversubscribe is of as many ranks as --ranks says: give --ranks N, or leave"
            " --oversubscribe out"
        )


def _named_counts(wanted: Sequence[str]) -> list[int]:
    """The numbers of ranks in the names of paths."""
    return [int(match[1]) for match in filter(None, map(_SO_MANY.fullmatch, wanted))]


def select_paths(
    machine: Machine,
    hosts: Sequence[str],
    wanted: Sequence[str],
    all_pairs: bool = False,
    ranks: Ranks = Ranks(),
) -> list[DataPath]:
    """Returns the data paths asked for; without any, those of this machine, or between the hosts.

    `all_pairs`: without any, those between all pairs of GPUs, and of NUMA nodes and GPUs; between
    hosts, of each GPU through its own NIC, if there are any. `ranks`: only paths with that number
    of ranks. UserError names a missing path, and the reason.
    """
    if hosts and (uneven := [n for n in ranks.counts if n < len(hosts) or n % len(hosts)]):
        raise UserError(
            f"--ranks {','.join(map(str, uneven))}: {len(hosts)} hosts have as many ranks each: "
            f"give a multiple of {len(hosts)}, or leave --ranks out for one on each"
        )
    usual, missing = discover_paths(machine, list(hosts), all_pairs, ranks)
    if wanted:
        chosen = _named(machine, hosts, wanted, ranks, usual, missing)
    elif all_pairs:
        pairs = [path for path in usual if path.pair]
        chosen = [path for path in pairs if path.between_hosts] or pairs
        if not chosen:
            notes = "".join(f" ({note})" for note in machine.gpu_notes)
            raise UserError(
                f"--all-pairs measures pairs of GPUs, and no GPU can be used here{notes}"
            )
    else:
        chosen = [path for path in usual if path.between_hosts or not hosts]
    if hosts and ranks.counts and not wanted:
        chosen = [path for path in chosen if path.place.hosts == len(hosts)]
    chosen = _with_rank_counts(chosen, ranks.counts, missing, hosts, wanted)
    if between_ranks(chosen):
        return chosen
    if not wanted:
        reasons = "; ".join(map(str, missing)) or "choose another"
        raise UserError(f"no path for MPI is left: {reasons}")
    others = ", ".join(path.id for path in between_ranks(usual))
    raise UserError(
        f"{', '.join(wanted)}: ceilings are measured there, and no MPI; choose a path between "
        f"ranks{f': {others}' if others else ''}"
    )


def between_ranks(paths: Iterable[DataPath]) -> list[DataPath]:
    """The paths without those where no MPI is measured."""
    return [path for path in paths if not path.without_mpi]


def _named(
    machine: Machine,
    hosts: Sequence[str],
    wanted: Sequence[str],
    ranks: Ranks,
    usual: Sequence[DataPath],
    missing: list[NoPath],
) -> list[DataPath]:
    """The paths of these names, of the usual ones, of all pairs or of a number of ranks; adds the
    reasons for missing ones. UserError for another name."""
    by_id = {path.id: path for path in usual}
    if not by_id.keys() >= {*wanted}:
        ranks = Ranks([*ranks.counts, *_named_counts(wanted)], ranks.oversubscribe)
        paths, lacking = discover_paths(machine, list(hosts), True, ranks)
        by_id |= {path.id: path for path in paths}
        missing += [reason for reason in lacking if reason not in missing]
    unknown = next((path_id for path_id in wanted if path_id not in by_id), None)
    if reasons := [reason for reason in missing if reason.path == unknown]:
        raise UserError(f"there is no path {reasons[0]}")
    if unknown is not None:
        raise UserError(f"unknown path {unknown!r}{closest(unknown, by_id)}")
    return [msgspec.structs.replace(by_id[name], named=True) for name in dict.fromkeys(wanted)]


def rails_path(machine: Machine, hosts: Sequence[str], gpus: Sequence[str]) -> DataPath:
    """Returns the path with a rank for each of these GPUs (by their numbers for a rank) on each
    host. UserError for a GPU that this machine lacks, and for too few cores."""
    path = path_of_rails(machine, usable_cores(machine), hosts, gpus)
    if isinstance(path, NoPath):
        raise UserError(f"there is no path {path}")
    return path


def why_not(path_id: str, machine: Machine, hosts: Sequence[str]) -> str | None:
    """Returns the reason why a study of these hosts, or of only this machine, may lack a known
    path, and what to do; None: the path is not known."""
    paths, missing = discover_paths(machine, list(hosts), True)
    path = next((path for path in paths if path.id == path_id), None)
    if path is None:
        return next((reason.why for reason in missing if reason.path == path_id), None)
    if hosts and not path.between_hosts:
        return (
            "it is within a node, and this study is between nodes: a job of one node measures it, "
            f"or a study with --path {shlex.quote(path_id)}"
        )
    return f"name it with --path {shlex.quote(path_id)} in a new one"


def _with_rank_counts(
    paths: list[DataPath],
    counts: Sequence[int],
    missing: Sequence[NoPath],
    hosts: Sequence[str],
    wanted: Sequence[str],
) -> list[DataPath]:
    """Returns the paths with these numbers of ranks. UserError for a number without a path; in a
    job of several nodes, none of which was named, it says how to have ranks on all of them.
    `wanted`: the names of the paths, if they were named."""
    if not counts:
        return paths
    measured = {len(path.ends) for path in between_ranks(paths)}
    number = next((number for number in counts if number not in measured), None)
    if number is None:
        return [path for path in paths if path.is_local or len(path.ends) in counts]
    if wanted:
        problem = f"--ranks {number}: of the paths {', '.join(wanted)} none has so many"
        raise UserError(f"{problem}: leave --ranks out, or choose other paths")
    reasons = [str(reason) for reason in missing if reason.ranks == number]
    if not hosts and (nodes := hosts_of_job()):
        reasons.append(
            "it is of this node alone; for one rank on each of the job's nodes leave it"
            f" out, or give --hosts {','.join(nodes)} too"
        )
    raise UserError(f"--ranks {number}: {'; '.join(reasons) or 'no path has so many ends'}")


def fitting_path(
    paths: Sequence[DataPath], benchmark: Benchmark, buffers: str
) -> tuple[DataPath, Ends]:
    """The first path that a benchmark with these buffers runs on, with each rank's end.

    One on more hosts comes before one on fewer, and one between two GPUs before one where the ranks
    share a GPU. UserError without one.
    """
    between = between_ranks(paths)
    seated = [(path, ends) for path in between if (ends := rank_ends(path, buffers))]
    fitting = [pair for pair in seated if fits(pair[0], benchmark, buffers)]
    if fitting:
        return min(fitting, key=lambda pair: (-pair[0].place.hosts, *_last_resort(pair[0])))
    if seated:
        names = ", ".join(f"{path.id} ({len(path.ends)})" for path in between)
        raise UserError(
            f"{benchmark.name} runs on {benchmark.ranks.text}, and none of the paths {names} has "
            "so many: choose another with --path"
        )
    raise UserError(f"buffers {buffers} {unfit(buffers, between)}")


def paths_within(machine: Machine) -> list[DataPath]:
    """Returns the usual paths of this host, whatever was asked for."""
    return discover_paths(machine)[0]


def gpu_path(paths: Sequence[DataPath]) -> DataPath | None:
    """Returns the path on which device buffers are tried: between two GPUs if there are two, which
    includes what a library does within one. None without a GPU."""
    between = [path for path in between_ranks(paths) if path.is_pair and rank_ends(path, "D,D")]
    return min(between, key=_last_resort, default=None)


def _last_resort(path: DataPath) -> tuple[bool, bool]:
    """Returns a key that sorts paths whose ends have a GPU each before those where several share
    one."""
    return path.shares_gpu, path.mps


def fits(path: DataPath, benchmark: Benchmark, buffers: str) -> bool:
    """True if MPI runs a benchmark with these buffers on a path: one rank sits at each of its
    ends."""
    ranks = not path.without_mpi and benchmark.ranks.fits(len(path.ends))
    return ranks and rank_ends(path, buffers) is not None


def between_gpus(path: DataPath, buffers: str) -> bool:
    """True if ranks on a path have a GPU of this host each and buffers there, as NCCL requires."""
    separate = len({end.gpu for end in path.ends}) == len(path.ends)
    on_gpus = set(buffers.split(",")) == {"D"}
    return on_gpus and separate and not (path.between_hosts or path.shares_gpu)


def unfit(buffers: str, paths: Sequence[DataPath]) -> str:
    """Returns the reason why buffers fit none of these paths, and what to do."""
    names = ", ".join(path.id for path in paths)
    if needs_gpu(buffers) and not any(end.gpu for path in paths for end in path.ends):
        return f"need a GPU, and none of the paths {names} has one: see `nearpeak machine`"
    return f"fit none of the paths {names}: choose others"
