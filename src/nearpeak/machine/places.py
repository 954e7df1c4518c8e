# SPDX-License-Identifier: Apache-2.0
"""Places for the ranks of a path: usable cores, their distances, and the NIC between hosts."""

import itertools
import socket
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from nearpeak.machine.machine import Core, Machine, Nic
from nearpeak.machine.rails import EFA
from nearpeak.terms.path import Endpoint, NoPath

NO_HOSTS = "no hosts given; name two with --hosts A,B, or start it in a job of two nodes"
LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20  # linux/topology.h: where the firmware does not say
NO_NIC = Nic(name="", kind="", numa_node=None, rate_gbs=None, addresses=[])
FAST = 0.9  # of the fastest core's capacity: the kernel's figures of one kind of cores scatter
USUAL_RANKS = 4  # between two, which most paths have, and the largest number


Cores = dict[int, list[Core]]  # NUMA node -> its usable cores


class Ranks(NamedTuple):
    """The requested numbers of ranks for paths of another number than two."""

    counts: Sequence[int] = ()  # none: `USUAL_RANKS`, and the largest number
    oversubscribe: bool = False  # ranks may share cores

    def up_to(self, most: int) -> list[int]:
        """The numbers of ranks other than 2: the requested ones, also above `most`, or the usual.

        1 is among them only where it was requested: an application can have one rank.
        """
        usual = (n for n in (USUAL_RANKS, most) if n > 2)
        return sorted({n for n in self.counts or usual if n not in (0, 2)})


def on_nodes(hosts: int, ranks: Ranks) -> list[tuple[int, int]]:
    """Pairs of a number of hosts and their number of ranks, for paths of more than two ends.

    The hosts are 2, 4, 8, ... and all of `hosts`. The ranks are one on each host, or the requested
    numbers that divide evenly. Two hosts with one rank on each have other paths.
    """
    sizes = sorted({hosts, *itertools.takewhile(hosts.__gt__, (2**n for n in range(1, 32)))})
    return [
        (nodes, number)
        for nodes in sizes
        if 2 <= nodes <= hosts
        for number in (sorted({*ranks.counts}) or [nodes])
        if number >= max(nodes, 3) and number % nodes == 0
    ]


def usable_cores(machine: Machine) -> Cores:
    """The cores that this process may use, with the CPUs it may use; slow ones come last.

    Cores without a NUMA node that the kernel lists are left out: their distances are not known.
    """
    allowed = set(machine.allowed_cpus)
    by_node: Cores = {}
    least = FAST * max((core.capacity or 0 for core in machine.cores), default=0)
    for core in sorted(
        machine.cores, key=lambda core: ((core.capacity or 0) < least, core.cpus[0])
    ):
        cpus = [cpu for cpu in core.cpus if cpu in allowed]
        if cpus and core.numa_node is not None:
            usable = msgspec.structs.replace(core, cpus=cpus)
            by_node.setdefault(core.numa_node, []).append(usable)
    return dict(sorted(by_node.items()))


def no_second_node(machine: Machine, path: str) -> NoPath:
    """The reason why a machine lacks a path between two NUMA nodes: it has usable cores of one."""
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
    between two cores. Without such a pair it is the most similar one.
    """
    last = max((cache.level for cache in machine.caches), default=0)
    caches: dict[int, set[tuple[int, int]]] = defaultdict(set)  # CPU -> levels and first CPUs
    for cache in machine.caches:
        for cpu in cache.cpus:
            caches[cpu].add((cache.level, cache.cpus[0]))

    order = {core.cpus[0]: position for position, core in enumerate(cores)}

    def shared(first: Core, second: Core) -> set[int]:
        return {level for level, _ in caches[first.cpus[0]] & caches[second.cpus[0]]}

    def rank(pair: tuple[Core, Core]) -> tuple[bool, bool, int, int]:
        first, second = pair
        levels = shared(first, second)
        return (
            bool(levels - {last}),
            last not in levels,
            order[first.cpus[0]],
            order[second.cpus[0]],
        )

    # A best pair contains the first core or the second, but for odd machines, where the choice does
    # not matter; all pairs of 128 cores would take a while.
    pairs = itertools.chain(
        itertools.product(cores[:1], cores[1:]), itertools.product(cores[1:2], cores[2:])
    )
    best = min(pairs, key=rank)
    return *best, max(shared(*best), default=0)


def listed_distance(machine: Machine, first: int, second: int) -> int | None:
    """The kernel's distance between two NUMA nodes; None where it lists none."""
    table = {node.index: node.distances for node in machine.numa_nodes}
    both = (table.get(first, {}).get(second), table.get(second, {}).get(first))
    return max((way for way in both if way is not None), default=None)


def distance(machine: Machine, first: int, second: int) -> int:
    """The distance to compare by: the kernel's default where none is listed."""
    listed = listed_distance(machine, first, second)
    assumed = LOCAL_DISTANCE if first == second else REMOTE_DISTANCE
    return assumed if listed is None else listed


def same_package(machine: Machine, first: int, second: int) -> bool | None:
    """True if two NUMA nodes are of one package; None where it is not known."""
    if first == second:
        return True
    near, far = _packages(machine, first), _packages(machine, second)
    if None in near | far or not (near and far):
        return None
    return bool(near & far)


def _packages(machine: Machine, node: int) -> set[int | None]:
    return {core.package for core in machine.cores if core.numa_node == node}


def fabric_ports(machine: Machine) -> list[Nic]:
    """The ports by which ranks talk without TCP: InfiniBand's, else Slingshot's, else EFA's, else
    those of RoCE."""
    infiniband = [nic for nic in machine.nics if nic.kind == "infiniband" and ":" in nic.name]
    slingshot = [nic for nic in machine.nics if nic.kind == "slingshot"]
    efa = [nic for nic in machine.nics if nic.kind == EFA]
    roce = [nic for nic in machine.nics if nic.kind == "ethernet" and nic.verbs]
    return infiniband or slingshot or efa or roce


def towards(machine: Machine, hosts: Sequence[str]) -> Nic:
    """The NIC between this host and the other of the first two hosts.

    It is the fastest port of `fabric_ports`, else that of the route. NO_NIC where
    neither of the two is this host, or the route is not known.
    """
    local_names = [machine.hostname.partition(".")[0], "localhost"]
    remote = [host for host in hosts[:2] if host.partition(".")[0] not in local_names]
    if len(remote) != 1:
        return NO_NIC
    if ports := fabric_ports(machine):
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
        return NO_NIC
    return next((nic for nic in machine.nics if mine in nic.addresses), NO_NIC)
