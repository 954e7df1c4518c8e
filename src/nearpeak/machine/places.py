# SPDX-License-Identifier: Apache-2.0
"""Where the ranks of a path may sit: usable cores, how far apart, and the NIC between hosts."""

import itertools
import socket
from collections.abc import Sequence
from typing import NamedTuple

from nearpeak.machine.machine import Core, Machine, Nic
from nearpeak.terms.path import Endpoint, NoPath

NO_HOSTS = "no hosts given; name two with --hosts A,B, or start it in a job of two nodes"
LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20  # linux/topology.h: where the firmware does not say
USUAL_RANKS = 4  # between two, which most paths have, and as many as there can be


Cores = dict[int, list[Core]]  # NUMA node -> its usable cores


class Ranks(NamedTuple):
    """How many ranks the paths of another number than two have, where somebody has asked."""

    counts: Sequence[int] = ()  # none: `USUAL_RANKS`, and as many as there can be
    oversubscribe: bool = False  # whether there may be more of them than cores

    def of(self, most: int) -> list[int]:
        """The numbers but 2, those that are more than can be among them; 1 where it was asked for.

        An application can have one rank.
        """
        usual = (n for n in (USUAL_RANKS, most) if n > 2)
        return sorted({n for n in self.counts or usual if n not in (0, 2)})


def on_nodes(hosts: int, ranks: Ranks) -> list[tuple[int, int]]:
    """On how many of so many hosts, and with how many ranks in all, paths of more than two ends
    are: on 2, 4, 8, ... and all hosts, a rank on each or, of the numbers that were asked for, those
    that are alike on each. Two hosts with a rank on each have paths of their own."""
    sizes = sorted({hosts, *itertools.takewhile(hosts.__gt__, (2**n for n in range(1, 32)))})
    return [
        (nodes, number)
        for nodes in (size for size in sizes if 2 <= size <= hosts)
        for number in (sorted({*ranks.counts}) or [nodes])
        if number >= max(nodes, 3) and number % nodes == 0
    ]


def usable_cores(machine: Machine) -> Cores:
    """The cores that this process may use, with the CPUs it may use.

    Cores of no NUMA node that the kernel lists are left out: nobody knows what they are near to.
    """
    allowed = set(machine.allowed_cpus)
    found: Cores = {}
    for core in sorted(machine.cores, key=lambda core: core.cpus[0]):
        cpus = [cpu for cpu in core.cpus if cpu in allowed]
        if cpus and core.numa_node is not None:
            usable = Core(cpus=cpus, package=core.package, numa_node=core.numa_node)
            found.setdefault(core.numa_node, []).append(usable)
    return dict(sorted(found.items()))


def no_second_node(machine: Machine, path: str) -> NoPath:
    """Why a machine lacks a path between two NUMA nodes, where it has usable cores of one."""
    if len({core.numa_node for core in machine.cores} - {None}) < 2:
        return NoPath(path, "the machine has one NUMA node with cores")
    return NoPath(path, "this process may use cores of one NUMA node only; allow it more CPUs")


def host_end(core: Core, host: str | None = None, device: str | None = None) -> Endpoint:
    """An end in the host's memory; `device`: of `Endpoint`, on a path to a GPU."""
    return Endpoint(
        memory="host", cpus=core.cpus[:1], numa_node=core.numa_node, host=host, device=device
    )


def neighbours(machine: Machine, cores: list[Core]) -> tuple[Core, Core, int]:
    """The first two cores that share a last-level cache but no smaller one, and its level.

    Cores that share a smaller one too (pairs of POWER9) would show that cache, not the path
    between two cores. Where no pair is so, the nearest to it.
    """
    last = max((cache.level for cache in machine.caches), default=0)
    caches: dict[int, set[tuple[int, int]]] = {}  # CPU -> level and first CPU of its caches
    for cache in machine.caches:
        for cpu in cache.cpus:
            caches.setdefault(cpu, set()).add((cache.level, cache.cpus[0]))

    def shared(pair: tuple[Core, Core]) -> set[int]:
        first, second = (caches.get(core.cpus[0], set()) for core in pair)
        return {level for level, _ in first & second}

    def rank(pair: tuple[Core, Core]) -> tuple[bool, bool, int, int]:
        levels = shared(pair)
        first, second = (core.cpus[0] for core in pair)
        return any(level < last for level in levels), last not in levels, first, second

    # With the first core or the second there is always a pair as good as any, or the machine is
    # so odd that the choice does not matter; all pairs of 128 cores would take a while.
    pairs = itertools.chain(
        itertools.product(cores[:1], cores[1:]), itertools.product(cores[1:2], cores[2:])
    )
    best = min(pairs, key=rank)
    return *best, max(shared(best), default=0)


def listed_distance(machine: Machine, first: int, second: int) -> int | None:
    """Return the kernel's distance between two NUMA nodes; None where it does not say."""
    table = {node.index: node.distances for node in machine.numa_nodes}
    both = (table.get(first, {}).get(second), table.get(second, {}).get(first))
    return max((way for way in both if way is not None), default=None)


def distance(machine: Machine, first: int, second: int) -> int:
    """Return the distance to compare by: the kernel's default where none is listed."""
    listed = listed_distance(machine, first, second)
    assumed = LOCAL_DISTANCE if first == second else REMOTE_DISTANCE
    return assumed if listed is None else listed


def same_package(machine: Machine, first: int, second: int) -> bool | None:
    """Tell whether two NUMA nodes are of one package; None where nobody knows."""
    if first == second:
        return True
    one, other = (
        {core.package for core in machine.cores if core.numa_node == node}
        for node in (first, second)
    )
    unknown = None in one | other or not one or not other
    return None if unknown else bool(one & other)


def towards(machine: Machine, hosts: list[str]) -> Nic | None:
    """The NIC between this host and the other of the first two: the fastest InfiniBand port, else
    by the route.

    None where neither of them is this one, or where the route is not known.
    """
    here = [machine.hostname.partition(".")[0], "localhost"]
    remote = [host for host in hosts[:2] if host.partition(".")[0] not in here]
    if len(remote) != 1:
        return None
    ports = [nic for nic in machine.nics if nic.kind == "infiniband" and ":" in nic.name]
    if ports:
        return max(ports, key=lambda nic: nic.rate_gbs or 0.0)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            remote[0], 9, type=socket.SOCK_DGRAM
        )[0]
        # Connecting a datagram socket sends nothing: it asks the kernel for the route.
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            mine = str(probe.getsockname()[0])
    except OSError:
        return None
    return next((nic for nic in machine.nics if mine in nic.addresses), None)
