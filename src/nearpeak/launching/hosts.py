# SPDX-License-Identifier: Apache-2.0
"""Whether other hosts are like this machine, as paths between hosts take them to be."""

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

import msgspec

from nearpeak.files import make_private, write_whole
from nearpeak.folders import cache
from nearpeak.launching.process import run_tree
from nearpeak.libraries.launchers import srun
from nearpeak.machine import allocation
from nearpeak.machine.discover import discover
from nearpeak.machine.doctor import examine
from nearpeak.machine.machine import Machine
from nearpeak.machine.tree import format_list
from nearpeak.terms.command_words import check_host
from nearpeak.terms.logs import last_words
from nearpeak.watch import watched

SECONDS = 60.0  # for a host to describe itself
AT_ONCE = 16  # hosts that are called at the same time


def describe(
    here: Machine, hosts: Sequence[str], remote_shell: str | None, ranks: int | None = None
) -> dict[str, Machine | str]:
    """The machine that each host is, by its own word, or why it does not say: this program runs
    there, from the same folder. Of this host, `here`. `ranks`: with what doctor finds for so many.

    Nodes of a job describe themselves by srun, where no remote shell is given; others are called.
    UserError for what is no name of a host.
    """
    for host in hosts:
        check_host(host)
    others = [host for host in hosts if not is_here(host)]
    if others and remote_shell is None and allocation.by_srun():
        told = _by_srun(others, ranks)
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            asked = pool.map(lambda host: _ask(host, remote_shell or "ssh", ranks), others)
            told = dict(zip(others, asked, strict=True))
    return {host: told.get(host, here) for host in hosts}


def tell(ranks: int | None, folder: str | None) -> None:
    """What runs on a host: its description, as JSON on stdout, or in a file of the folder that is
    called as Slurm calls the node."""
    found = discover()
    if ranks is not None:
        diagnoses = examine(machine=found, ranks=ranks)
        found = msgspec.structs.replace(found, diagnoses=diagnoses)
    whole = msgspec.json.encode(found)
    if folder is None:
        sys.stdout.buffer.write(whole)
    else:
        write_whole(Path(folder) / os.environ["SLURMD_NODENAME"], whole.decode())


def _telling(ranks: int | None, folder: Path | None) -> list[str]:
    told = None if folder is None else str(folder)
    code = f"from nearpeak.launching.hosts import tell; tell({ranks!r}, {told!r})"
    return [sys.executable, "-c", code]


def _by_srun(hosts: Sequence[str], ranks: int | None) -> dict[str, Machine | str]:
    """In one step for all: into files, as srun cuts long lines of several tasks into pieces."""
    found: dict[str, Machine | str] = {}
    make_private(cache())
    with tempfile.TemporaryDirectory(prefix="hosts-", dir=cache()) as shared:
        folder, log = Path(shared), Path(shared) / ".log"
        argv = [srun.PROGRAM, "--cpu-bind=none", "--export=ALL", "--ntasks-per-node=1"]
        argv += [f"--nodes={len(hosts)}", f"--ntasks={len(hosts)}", f"--nodelist={','.join(hosts)}"]
        env = {**os.environ, **allocation.SHARING_STEPS}
        ended = run_tree([*argv, *_telling(ranks, folder)], env=env, log=log, limit_seconds=SECONDS)
        if ended.end == "hung":
            why = f"no answer within {SECONDS:.0f} s"
        else:
            why = ended.reason or last_words(log)
        for host in hosts:
            try:
                found[host] = msgspec.json.decode((folder / host).read_bytes(), type=Machine)
            except FileNotFoundError:
                found[host] = why
            except (OSError, msgspec.MsgspecError) as error:
                found[host] = str(error)
    return found


def _ask(host: str, shell: str, ranks: int | None) -> Machine | str:
    try:
        with watched.launch() as (marks, _):
            done = subprocess.run(
                [shell, host, shlex.join(_telling(ranks, None))],
                env={**os.environ, **marks},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=True,
            )
        return msgspec.json.decode(done.stdout, type=Machine)
    except subprocess.CalledProcessError as error:
        said: list[str] = error.stderr.decode(errors="replace").strip().splitlines()
        return said[-1] if said else "no reason given"
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS:.0f} s"
    except (OSError, msgspec.MsgspecError) as error:
        return str(error)


def remarks(here: Machine, hosts: Sequence[str], remote_shell: str | None) -> Iterator[str]:
    """A line for each thing in which a host differs, and for each host that does not say."""
    for host, other in describe(here, hosts, remote_shell).items():
        if isinstance(other, str):
            yield f"{host} does not say what it is ({other}): it is taken to be like this machine"
            continue
        for difference in differences(here, other):
            yield f"{host} is not like this machine, as it is taken to be: {difference}"


# What paths and bindings follow from, in words.
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
    "NICs": lambda machine: "; ".join(
        f"{nic.name} {'' if nic.rate_gbs is None else f'{nic.rate_gbs:g} GB/s'}".strip()
        for nic in sorted(machine.nics, key=lambda nic: nic.name)
    ),
}


def differences(here: Machine, other: Machine) -> Iterator[str]:
    """What is not the same there: `usable CPUs: 0, here 0-1`."""
    for name, fact in FACTS.items():
        if (there := fact(other)) != (mine := fact(here)):
            yield f"{name}: {there or 'none'}, here {mine or 'none'}"


def is_here(host: str) -> bool:
    """Whether a name, or an address, is that of this host: what Slurm or the host calls itself, or
    one of its interfaces."""
    whole = socket.gethostname()
    if host in ("localhost", whole, whole.partition(".")[0], socket.getfqdn()):
        return True
    if (found := allocation.current()) is not None and host in found.nodes:
        return host == found.here
    try:
        known = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    for family, kind, protocol, _, address in known:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as end:
            end.bind(address)
            return True
    return False
