# SPDX-License-Identifier: Apache-2.0
"""The data paths of a machine, and why it lacks the others. docs/machine.md lists the ids."""

import itertools
import socket

from nearpeak.errors import UserError
from nearpeak.machine.model import Core, Endpoint, Machine, Nic, NumaNode, Path

SAME_NUMA = "host-host same-numa"
CROSS_NUMA = "host-host cross-numa"
SAME_PACKAGE = "host-host cross-numa same-package"
LOOPBACK = "host-host tcp-loopback"
TWO_NODES = "host-host two-nodes"


def discover_paths(
    machine: Machine, hosts: list[str] | None = None
) -> tuple[list[Path], list[str]]:
    """The data paths of the machine, and one line for each that it does not have, saying why.

    `hosts` is empty or the names of two hosts, which are taken to be like this machine. Only
    CPUs that this process may use appear, one for each core. UserError for any other number of
    hosts.
    """
    hosts = hosts or []
    if len(hosts) not in (0, 2):
        raise UserError(f"a path joins two hosts, not {len(hosts)} ({','.join(hosts)}): name two")
    cores = _usable_cores(machine)
    found: list[Path | str] = [
        _same_numa(machine, cores),
        _cross_numa(machine, cores),
        *_same_package(machine, cores),
        _loopback(machine, cores),
        _two_nodes(machine, cores, hosts),
        *_memory(machine, cores),
    ]
    paths = [item for item in found if isinstance(item, Path)]
    return paths, [item for item in found if isinstance(item, str)]


def _usable_cores(machine: Machine) -> dict[int, list[Core]]:
    """NUMA node -> its cores that this process may use, with the CPUs it may use."""
    allowed = set(machine.allowed_cpus)
    found: dict[int, list[Core]] = {}
    for core in sorted(machine.cores, key=lambda core: core.cpus[0]):
        if cpus := [cpu for cpu in core.cpus if cpu in allowed]:
            usable = Core(cpus=cpus, package=core.package, numa_node=core.numa_node)
            found.setdefault(core.numa_node, []).append(usable)
    return dict(sorted(found.items()))


def _end(core: Core, host: str | None = None) -> Endpoint:
    return Endpoint(memory="host", cpus=core.cpus[:1], numa_node=core.numa_node, host=host)


def _same_numa(machine: Machine, cores: dict[int, list[Core]]) -> Path | str:
    for node, here in cores.items():
        if len(here) < 2:
            continue
        first, second, shared = _neighbours(machine, here)
        return Path(
            id=SAME_NUMA,
            summary=f"two cores of NUMA node {node} (CPUs {first.cpus[0]} and {second.cpus[0]}), "
            + (f"one L{shared} cache" if shared else "no cache in common"),
            transport="memory",
            ends=(_end(first), _end(second)),
        )
    return f"{SAME_NUMA}: this process may use no two cores of one NUMA node; allow it more CPUs"


def _neighbours(machine: Machine, cores: list[Core]) -> tuple[Core, Core, int]:
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
        one, other = (caches.get(core.cpus[0], set()) for core in pair)
        return {level for level, _ in one & other}

    def rank(pair: tuple[Core, Core]) -> tuple[bool, bool, int, int]:
        levels = shared(pair)
        one, other = (core.cpus[0] for core in pair)
        return any(level < last for level in levels), last not in levels, one, other

    # With the first core or the second there is always a pair as good as any, or the machine is
    # so odd that the choice does not matter; all pairs of 128 cores would take a while.
    pairs = itertools.chain(
        itertools.product(cores[:1], cores[1:]), itertools.product(cores[1:2], cores[2:])
    )
    best = min(pairs, key=rank)
    return *best, max(shared(best), default=0)


def _distance(machine: Machine, one: int, other: int) -> int:
    table = {node.index: node.distances for node in machine.numa_nodes}
    return max(table[one].get(other, 10), table[other].get(one, 10))


def _farthest(
    machine: Machine, cores: dict[int, list[Core]], same_package: bool
) -> tuple[Core, Core] | None:
    """The first cores of the two NUMA nodes farthest apart, across packages where equally far."""
    pairs = [
        (cores[one][0], cores[other][0])
        for one, other in itertools.combinations(cores, 2)
        if not same_package or cores[one][0].package == cores[other][0].package
    ]
    return min(
        pairs,
        key=lambda pair: (
            -_distance(machine, pair[0].numa_node, pair[1].numa_node),
            pair[0].package == pair[1].package,
            pair[0].numa_node,
            pair[1].numa_node,
        ),
        default=None,
    )


def _between(machine: Machine, name: str, pair: tuple[Core, Core]) -> Path:
    one, other = pair
    far = _distance(machine, one.numa_node, other.numa_node)
    where = "of one package" if one.package == other.package else "of two packages"
    return Path(
        id=name,
        summary=f"NUMA nodes {one.numa_node} and {other.numa_node} {where}, the farthest apart "
        f"(distance {far}; CPUs {one.cpus[0]} and {other.cpus[0]})",
        transport="memory",
        ends=(_end(one), _end(other)),
    )


def _cross_numa(machine: Machine, cores: dict[int, list[Core]]) -> Path | str:
    if pair := _farthest(machine, cores, same_package=False):
        return _between(machine, CROSS_NUMA, pair)
    if len({core.numa_node for core in machine.cores}) < 2:
        return f"{CROSS_NUMA}: the machine has one NUMA node with cores"
    return f"{CROSS_NUMA}: this process may use cores of one NUMA node only; allow it more CPUs"


def _same_package(machine: Machine, cores: dict[int, list[Core]]) -> list[Path]:
    """Across NUMA nodes of one package, where cross-numa is across packages (EPYC with NPS4)."""
    widest = _farthest(machine, cores, same_package=False)
    inner = _farthest(machine, cores, same_package=True)
    if widest is None or inner is None or widest[0].package == widest[1].package:
        return []
    return [_between(machine, SAME_PACKAGE, inner)]


def _two_cores(machine: Machine, cores: dict[int, list[Core]]) -> tuple[Core, Core] | None:
    """Two different cores: near each other if that can be."""
    for here in cores.values():
        if len(here) >= 2:
            return _neighbours(machine, here)[:2]
    one_each = [here[0] for here in cores.values()]
    return (one_each[0], one_each[1]) if len(one_each) >= 2 else None


def _loopback(machine: Machine, cores: dict[int, list[Core]]) -> Path | str:
    if (pair := _two_cores(machine, cores)) is None:
        return f"{LOOPBACK}: this process may use one core only; allow it two CPUs or more"
    one, other = pair
    return Path(
        id=LOOPBACK,
        summary=f"TCP inside this host (CPUs {one.cpus[0]} and {other.cpus[0]})",
        transport="network",
        ends=(_end(one), _end(other)),
    )


def _two_nodes(machine: Machine, cores: dict[int, list[Core]], hosts: list[str]) -> Path | str:
    if not hosts:
        return f"{TWO_NODES}: no hosts given; name two with --hosts A,B"
    if not cores:
        return f"{TWO_NODES}: this process may use no core"
    nic = _towards(machine, hosts)
    node = nic.numa_node if nic and nic.numa_node in cores else min(cores)
    here = cores[node]
    # The second host uses another core: both hosts may be containers of one machine.
    others = [core for core in itertools.chain(here, *cores.values()) if core != here[0]]
    second = others[0] if others else here[0]
    rate = nic.rate_gbs if nic else None
    through = f", through {nic.name}" if nic else ""
    return Path(
        id=TWO_NODES,
        summary=f"{hosts[0]} to {hosts[1]}{through}",
        transport="network",
        ends=(_end(here[0], hosts[0]), _end(second, hosts[1])),
        theoretical_gbs=rate,
    )


def _towards(machine: Machine, hosts: list[str]) -> Nic | None:
    """The NIC between this host and the other: the fastest InfiniBand port, else by the route.

    None where neither host is this one, or where the route is not known.
    """
    here = [machine.hostname.partition(".")[0], "localhost"]
    remote = [host for host in hosts if host.partition(".")[0] not in here]
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


def _memory(machine: Machine, cores: dict[int, list[Core]]) -> list[Path | str]:
    """The cores of each NUMA node on the host memory of each: ceilings only."""
    allowed = machine.allowed_nodes
    found: list[Path | str] = []
    for memory in machine.numa_nodes:
        name = f"host-memory node{memory.index}"
        if memory.memory == "gpu" or memory.memory_bytes == 0:
            continue
        if allowed is not None and memory.index not in allowed:
            found.append(f"{name}: this process may take no memory of NUMA node {memory.index}")
            continue
        if memory.index not in cores:
            why = "this process may use none of its cores" if memory.cpus else "it has no cores"
            found.append(f"{name}: {why}; measured from other nodes")
        found += [_local(memory, node, here) for node, here in _own_first(memory, cores)]
    return found


def _own_first(memory: NumaNode, cores: dict[int, list[Core]]) -> list[tuple[int, list[Core]]]:
    return sorted(cores.items(), key=lambda item: (item[0] != memory.index, item[0]))


def _local(memory: NumaNode, node: int, cores: list[Core]) -> Path:
    own = node == memory.index
    cpus = [core.cpus[0] for core in cores]
    return Path(
        id=f"host-memory node{memory.index}" + ("" if own else f" from node{node}"),
        summary=f"memory of NUMA node {memory.index}, "
        + ("its own cores" if own else f"cores of node {node}")
        + (f" (distance {memory.distances[node]})" if node in memory.distances else ""),
        transport="local",
        ends=(
            Endpoint(memory="host", cpus=cpus, numa_node=node),
            Endpoint(memory="host", cpus=cpus, numa_node=memory.index),
        ),
    )
