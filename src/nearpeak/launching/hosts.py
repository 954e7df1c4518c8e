# SPDX-License-Identifier: Apache-2.0
"""Compares other hosts with this machine: paths between hosts assume that they are alike."""

import contextlib
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.files import make_private, write_whole
from nearpeak.folders import cache
from nearpeak.launching import peer_copies
from nearpeak.launching.process import run_captured, run_tree
from nearpeak.libraries.launchers import srun
from nearpeak.machine import allocation, doctor
from nearpeak.machine.discover import discover
from nearpeak.machine.machine import Machine
from nearpeak.machine.tree import format_list
from nearpeak.terms.command_words import check_host
from nearpeak.terms.logs import last_line, last_words

SECONDS = 60.0  # for a host to describe itself, without its copies
AT_ONCE = 16  # hosts that are called at the same time


class Question(NamedTuple):
    """The facts that a host is asked for besides its parts."""

    ranks: int | None  # whose diagnoses; None: none
    copies: bool  # those of copies between its GPUs, too

    @property
    def seconds(self) -> float:
        """The time for its answer."""
        return SECONDS + (peer_copies.SECONDS if self.copies else 0)


def describe(
    this_machine: Machine,
    hosts: Sequence[str],
    remote_shell: str | None,
    ranks: int | None = None,
    *,
    copies: bool = False,
) -> dict[str, Machine | str]:
    """Returns the machine that each host reports itself to be, or the reason why it does not
    report: this program runs there, from the same folder. For this host it is `this_machine`.
    `ranks`: also its diagnoses, as `diagnosed` makes them.

    If no remote shell is given, nodes of a job describe themselves by srun or by Flux's brokers;
    others are called.
    UserError for an invalid name of a host.
    """
    for host in hosts:
        check_host(host)
    others = [host for host in hosts if not is_here(host)]
    asked = Question(ranks, copies)
    if others and remote_shell is None and allocation.by_srun():
        described = _by_srun(others, asked)
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = pool.map(lambda host: _ask(_call(host, remote_shell, asked), asked), others)
            described = dict(zip(others, answers, strict=True))
    return {host: described.get(host, this_machine) for host in hosts}


def diagnosed(machine: Machine, ranks: int, *, copies: bool) -> Machine:
    """This machine, with doctor's diagnoses for that number of ranks. `copies`: also those of
    copies between GPUs, which come first, as the speed of a PCIe link counts while a GPU works."""
    compared = peer_copies.compare_copies(machine) if copies else []
    diagnoses = [*doctor.examine(machine=machine, ranks=ranks), *compared]
    return msgspec.structs.replace(machine, diagnoses=diagnoses)


def tell(ranks: int | None, folder: str | None, copies: bool) -> None:
    """Describes a host, on which it runs, as JSON on stdout, or in a file of the folder with
    Slurm's name of the node."""
    machine = discover()
    if ranks is not None:
        machine = diagnosed(machine, ranks, copies=copies)
    encoded = msgspec.json.encode(machine)
    if folder is None:
        sys.stdout.buffer.write(encoded)
    else:
        write_whole(Path(folder) / os.environ["SLURMD_NODENAME"], encoded.decode())


def _telling(asked: Question, folder: Path | None) -> list[str]:
    target = None if folder is None else str(folder)
    given = f"{asked.ranks!r}, {target!r}, {asked.copies!r}"
    code = f"from nearpeak.launching.hosts import tell; tell({given})"
    return [sys.executable, "-c", code]


def _by_srun(hosts: Sequence[str], asked: Question) -> dict[str, Machine | str]:
    """Describes all hosts in one step. It writes files, as srun cuts long lines of several tasks
    into pieces."""
    described: dict[str, Machine | str] = {}
    make_private(cache())
    with tempfile.TemporaryDirectory(prefix="hosts-", dir=cache()) as shared:
        folder, log = Path(shared), Path(shared) / ".log"
        argv = [srun.PROGRAM, "--cpu-bind=none", "--export=ALL", "--ntasks-per-node=1"]
        argv += [f"--nodes={len(hosts)}", f"--ntasks={len(hosts)}", f"--nodelist={','.join(hosts)}"]
        env = {**os.environ, **allocation.SHARING_STEPS}
        line = [*argv, *_telling(asked, folder)]
        ended = run_tree(line, env=env, log=log, limit_seconds=asked.seconds)
        if ended.end == "hung":
            reason = f"no answer within {asked.seconds:.0f} s"
        else:
            reason = ended.reason or last_words(log)
        for host in hosts:
            try:
                described[host] = msgspec.json.decode((folder / host).read_bytes(), type=Machine)
            except FileNotFoundError:
                described[host] = reason
            except (OSError, *UNDECODABLE) as error:
                described[host] = str(error)
    return described


def _call(host: str, remote_shell: str | None, asked: Question) -> list[str]:
    """The command line by which a host describes itself. A broker of Flux starts it at once, where
    a job would have to wait for other jobs."""
    telling = _telling(asked, None)
    broker = None if remote_shell else allocation.flux_broker(host)
    if broker is not None:
        return ["flux", "exec", "--noinput", f"--rank={broker}", *telling]
    return [remote_shell or "ssh", host, shlex.join(telling)]


def _ask(line: Sequence[str], asked: Question) -> Machine | str:
    try:
        done = run_captured(line, asked.seconds)
        done.check_returncode()
        return msgspec.json.decode(done.stdout, type=Machine)
    except subprocess.CalledProcessError as error:
        return last_line(error.stderr, "no reason given")
    except subprocess.TimeoutExpired:
        return f"no answer within {asked.seconds:.0f} s"
    except (OSError, *UNDECODABLE) as error:
        return str(error)


def remarks(this_machine: Machine, hosts: Sequence[str], remote_shell: str | None) -> Iterator[str]:
    """Yields a line for each difference of a host, and for each host that does not describe
    itself."""
    for host, other in describe(this_machine, hosts, remote_shell).items():
        if isinstance(other, str):
            yield f"{host} does not say what it is ({other}): it is taken to be like this machine"
            continue
        for difference in differences(this_machine, other):
            yield f"{host} is not like this machine, as it is taken to be: {difference}"


# The facts that paths and bindings follow from, as text.
FACTS: dict[str, Callable[[Machine], str]] = {
    "CPU": lambda machine: machine.cpu_model,
    "usable CPUs": lambda machine: format_list(machine.allowed_cpus),
    "cores of each NUMA node": lambda machine: "; ".join(
        f"{node.index}: {format_list(node.cpus)}" for node in machine.numa_nodes
    ),
    "threads of a core": lambda machine: ", ".join(
        sorted({str(len(core.cpus)) for core in machine.cores})
    ),
    "GPUs": lambda machine: "; ".join(
        f"{gpu.name} at NUMA node {gpu.numa_node}" for gpu in machine.gpus
    ),
    "NVLink fabric": lambda machine: ", ".join(
        sorted({gpu.fabric for gpu in machine.gpus if gpu.fabric})
    ),
    "NICs": lambda machine: "; ".join(
        f"{nic.name} {'' if nic.rate_gbs is None else f'{nic.rate_gbs:g} GB/s'}".strip()
        for nic in sorted(machine.nics, key=lambda nic: nic.name)
    ),
}


def differences(this_machine: Machine, other: Machine) -> Iterator[str]:
    """Yields the facts that differ: `usable CPUs: 0, here 0-1`."""
    for name, fact in FACTS.items():
        if (theirs := fact(other)) != (mine := fact(this_machine)):
            yield f"{name}: {theirs or 'none'}, here {mine or 'none'}"


def is_here(host: str) -> bool:
    """True if a name or an address is that of this host: Slurm's name for it, its own, or one of
    its interfaces."""
    hostname = socket.gethostname()
    if host in ("localhost", hostname, hostname.partition(".")[0], socket.getfqdn()):
        return True
    if (job := allocation.current()) is not None and host in job.nodes:
        return host == job.here
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    for family, kind, protocol, _, address in addresses:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as end:
            end.bind(address)
            return True
    return False
