# SPDX-License-Identifier: Apache-2.0
"""Whether other hosts are like this machine, as paths between hosts take them to be."""

import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from nearpeak.machine.machine import Machine
from nearpeak.machine.tree import format_list

SECONDS = 60.0  # for a host to describe itself
AT_ONCE = 16  # hosts that are asked at the same time


class _Described(msgspec.Struct):
    machine: Machine


def describe(
    here: Machine, hosts: Sequence[str], remote_shell: str | None
) -> dict[str, Machine | str]:
    """The machine that each host is, by its own word, or why it does not say: this program runs
    there, from the same folder. Of this host, `here`."""
    own = {"localhost", socket.gethostname(), socket.getfqdn()}
    others = [host for host in hosts if host not in own]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = pool.map(lambda host: _ask(host, remote_shell or "ssh"), others)
        told = dict(zip(others, asked, strict=True))
    return {host: told.get(host, here) for host in hosts}


def _ask(host: str, shell: str) -> Machine | str:
    code = "from nearpeak.cli.main import main; main()"
    command = shlex.join([sys.executable, "-c", code, "machine", "--json"])
    try:
        done = subprocess.run(
            [shell, host, command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        return msgspec.json.decode(done.stdout, type=_Described).machine
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
        f"{gpu.name} at node {gpu.numa_node}" for gpu in machine.gpus
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
