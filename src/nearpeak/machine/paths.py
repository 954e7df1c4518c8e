# SPDX-License-Identifier: Apache-2.0
"""The data paths of a machine, and why it lacks the others. docs/reference/data-paths.md lists the
ids."""

import itertools
from collections.abc import Iterator, Sequence

import msgspec

from nearpeak.errors import UserError
from nearpeak.machine.gpu_paths import gpu_paths
from nearpeak.machine.machine import Core, Gpu, Machine, Nic, NumaNode
from nearpeak.machine.places import (
    NO_HOSTS,
    USUAL_RANKS,
    Cores,
    Ranks,
    distance,
    host_end,
    listed_distance,
    neighbours,
    no_second_node,
    on_nodes,
    same_package,
    towards,
    usable_cores,
)
from nearpeak.numbers import count
from nearpeak.terms.path import DataPath, Endpoint, NoPath

SAME_NUMA = "host-host same-numa"
CROSS_NUMA = "host-host cross-numa"
SAME_PACKAGE = "host-host cross-numa same-package"
LOOPBACK = "host-host tcp-loopback"
TWO_NODES = "host-host two-nodes"
# Ranks per GPU by default: the context of each takes some 0.5 GB of its memory.
RANKS_OF_GPU = 32
GPU_SUPPORT = " gpu-support"  # ends the id of a host-memory path with the library's GPU support on


def discover_paths(
    machine: Machine,
    hosts: Sequence[str] = (),
    all_pairs: bool = False,
    ranks: Ranks = Ranks(),
) -> tuple[list[DataPath], list[NoPath]]:
    """The data paths of the machine, and those that it does not have.

    `hosts` is empty or the names of two hosts or more, which are assumed to be like this machine.
    Only CPUs that this process may use appear, one for each core. `all_pairs` adds every pair of
    GPUs, and of a NUMA node and a GPU, to one pair of each kind. `ranks`: their numbers on the
    paths of more than two. UserError for a single host.
    """
    if len(hosts) == 1:
        raise UserError(f"a path joins two hosts or more, not {hosts[0]} alone: name another")
    cores = usable_cores(machine)
    entries: list[DataPath | NoPath] = [
        _same_numa(machine, cores),
        _cross_numa(machine, cores),
        *_same_package(machine, cores),
        _loopback(machine, cores),
        _two_nodes(machine, cores, hosts),
        *_many_nodes(machine, cores, hosts, ranks),
        *_many(machine, cores, ranks),
        *gpu_paths(machine, cores, hosts, all_pairs, ranks),
        *_memory(machine, cores),
    ]
    paths = [entry for entry in entries if isinstance(entry, DataPath)]
    if machine.gpus and not hosts:
        paths += _with_gpu_support(machine, paths, ranks)
    return paths, [entry for entry in entries if isinstance(entry, NoPath)]


def _with_gpu_support(machine: Machine, paths: list[DataPath], ranks: Ranks) -> list[DataPath]:
    """Lists `host-host same-numa`, and the widest or the requested `host xN`, with the library's
    GPU support on. Each rank holds a GPU, time-sliced, as in an application with device buffers."""
    pairs = [path for path in paths if path.id == SAME_NUMA]
    wide = [path for path in paths if path.id.startswith("host x") and len(path.ends) > 2]
    held = RANKS_OF_GPU * len(machine.gpus)
    most = max((len(path.ends) for path in wide if len(path.ends) <= held), default=0)
    wide = [path for path in wide if len(path.ends) in (ranks.counts or [most])]
    return [
        msgspec.structs.replace(
            path,
            id=path.id + GPU_SUPPORT,
            summary=f"{path.summary}; with the library's GPU support on, each rank holds a GPU",
            ends=_holding_gpus(path.ends, machine.gpus),
            variant_of=path.id,
        )
        for path in [*pairs, *wide]
    ]


def _holding_gpus(ends: tuple[Endpoint, ...], gpus: list[Gpu]) -> tuple[Endpoint, ...]:
    pairs = zip(ends, itertools.cycle(gpus), strict=False)
    return tuple(msgspec.structs.replace(end, device=gpu.uuid) for end, gpu in pairs)


def _same_numa(machine: Machine, cores: Cores) -> DataPath | NoPath:
    for node, usable in cores.items():
        if len(usable) < 2:
            continue
        first, second, shared = neighbours(machine, usable)
        return DataPath(
            id=SAME_NUMA,
            summary=f"two cores of NUMA node {node} (CPUs {first.cpus[0]} and {second.cpus[0]}), "
            + (f"one L{shared} cache" if shared else "no cache in common"),
            transport="memory",
            ends=(host_end(first), host_end(second)),
        )
    return NoPath(
        SAME_NUMA, "this process may not use two cores of one NUMA node; allow it more CPUs"
    )


def _farthest(machine: Machine, cores: Cores, one_package: bool) -> tuple[int, int] | None:
    """The two NUMA nodes farthest apart, across packages where equally far."""
    pairs = [
        pair
        for pair in itertools.combinations(cores, 2)
        if not one_package or same_package(machine, *pair)
    ]
    return min(
        pairs,
        key=lambda pair: (-distance(machine, *pair), bool(same_package(machine, *pair)), pair),
        default=None,
    )


def _between(machine: Machine, cores: Cores, name: str, pair: tuple[int, int]) -> DataPath:
    first, second = (cores[node][0] for node in pair)
    labels = {True: " of one package", False: " of two packages", None: ""}
    packages = labels[same_package(machine, *pair)]
    far = listed_distance(machine, *pair)
    apart = "distance not known" if far is None else f"distance {far}"
    return DataPath(
        id=name,
        summary=f"NUMA nodes {pair[0]} and {pair[1]}{packages}, the farthest apart "
        f"({apart}; CPUs {first.cpus[0]} and {second.cpus[0]})",
        transport="memory",
        ends=(host_end(first), host_end(second)),
    )


def _cross_numa(machine: Machine, cores: Cores) -> DataPath | NoPath:
    if pair := _farthest(machine, cores, one_package=False):
        return _between(machine, cores, CROSS_NUMA, pair)
    return no_second_node(machine, CROSS_NUMA)


def _same_package(machine: Machine, cores: Cores) -> list[DataPath]:
    """The path across NUMA nodes of one package, if cross-numa is across packages (EPYC, NPS4)."""
    widest = _farthest(machine, cores, one_package=False)
    inner = _farthest(machine, cores, one_package=True)
    if widest is None or inner is None or same_package(machine, *widest) is not False:
        return []
    return [_between(machine, cores, SAME_PACKAGE, inner)]


def _two_cores(machine: Machine, cores: Cores) -> tuple[Core, Core] | None:
    """Two different cores, near each other if possible."""
    for usable in cores.values():
        if len(usable) >= 2:
            return neighbours(machine, usable)[:2]
    one_each = [usable[0] for usable in cores.values()]
    return (one_each[0], one_each[1]) if len(one_each) >= 2 else None


def _loopback(machine: Machine, cores: Cores) -> DataPath | NoPath:
    if (pair := _two_cores(machine, cores)) is None:
        return NoPath(LOOPBACK, "this process may use one core only; allow it two CPUs or more")
    first, second = pair
    return DataPath(
        id=LOOPBACK,
        summary=f"TCP inside this host (CPUs {first.cpus[0]} and {second.cpus[0]})",
        transport="network",
        ends=(host_end(first), host_end(second)),
    )


def _two_nodes(machine: Machine, cores: Cores, hosts: Sequence[str]) -> DataPath | NoPath:
    """The path between the first two hosts."""
    if not hosts:
        return NoPath(TWO_NODES, NO_HOSTS)
    if not cores:
        return NoPath(TWO_NODES, "this process may use no core")
    nic = towards(machine, hosts)
    through = f", through {nic.name}" if nic.name else ""
    return DataPath(
        id=TWO_NODES,
        summary=f"{hosts[0]} to {hosts[1]}{through}",
        transport="network",
        ends=_on_hosts(_nearest_first(cores, nic), hosts[:2], 1),
        theoretical_gbs=nic.path_gbs,
        adapter=nic.perftest_port,
    )


def _many_nodes(
    machine: Machine, cores: Cores, hosts: Sequence[str], ranks: Ranks
) -> list[DataPath | NoPath]:
    """Paths on all hosts and on the first two, four, eight, ... of them: a rank on each, or the
    requested numbers of ranks."""
    if not cores:
        return []
    near = _nearest_first(cores, towards(machine, hosts))
    paths: list[DataPath | NoPath] = []
    for nodes, number in on_nodes(len(hosts), ranks):
        name = f"host x{number} {nodes}-nodes"
        per_host = number // nodes
        if per_host > len(near) and not ranks.oversubscribe:
            paths.append(msgspec.structs.replace(_too_few(number, len(near)), path=name))
            continue
        paths.append(
            DataPath(
                id=name,
                summary=f"{number} ranks on {nodes} hosts, {per_host} on each, {hosts[0]} to "
                f"{hosts[nodes - 1]}",
                transport="network",
                ends=_on_hosts(near, hosts[:nodes], per_host),
            )
        )
    return paths


def _nearest_first(cores: Cores, nic: Nic) -> list[Core]:
    """All cores, those of the NUMA node of a NIC first, else of the first node."""
    nodes = sorted(cores, key=lambda node: node != nic.numa_node)
    return [core for node in nodes for core in cores[node]]


def _on_hosts(cores: list[Core], hosts: Sequence[str], per_host: int) -> tuple[Endpoint, ...]:
    """The ends of `per_host` ranks on each host, in the order of the hosts.

    Every second host begins with the next core: hosts may be containers of one machine.
    """
    return tuple(
        host_end(cores[(number % 2 + rank) % len(cores)], host)
        for number, host in enumerate(hosts)
        for rank in range(per_host)
    )


def _many(machine: Machine, cores: Cores, ranks: Ranks) -> list[DataPath | NoPath]:
    """Paths of several ranks, each on its own core, up to an even number of all cores."""
    every = _in_a_row(machine, cores)
    if not ranks.counts and len(every) < USUAL_RANKS:
        # Two cores have only the paths between them.
        return [] if len(every) < 3 else [_too_few(USUAL_RANKS, len(every))]
    paths: list[DataPath | NoPath] = []
    for number in ranks.up_to(len(every) // 2 * 2):
        enough = len(every) >= number or (ranks.oversubscribe and every)
        paths.append(_ranks_on_cores(every, number) if enough else _too_few(number, len(every)))
    return paths


def _in_a_row(machine: Machine, cores: Cores) -> list[Core]:
    """All cores by NUMA node, beginning with the two of `SAME_NUMA`."""
    every = [core for usable in cores.values() for core in usable]
    for usable in cores.values():
        if len(usable) > 1:
            first = neighbours(machine, usable)[:2]
            return sorted(
                every, key=lambda core: (core not in first, core.numa_node != first[0].numa_node)
            )
    return every


def _ranks_on_cores(every: list[Core], ranks: int) -> DataPath:
    """The path of `ranks` ranks on the first of the cores, which they share if these are fewer."""
    used = every[:ranks]
    if ranks == 1:
        cpu = used[0].cpus[0]
        return DataPath(
            id="host x1",
            summary=f"one rank, on CPU {cpu}",
            transport="memory",
            ends=(host_end(used[0]),),
        )
    nodes = count(len({core.numa_node for core in used}), "NUMA node")
    alone = len(used) == ranks
    place = (
        "each on a core of its own" if alone else f"on {count(len(used), 'core')}, which they share"
    )
    return DataPath(
        id=f"host x{ranks}",
        summary=f"{ranks} ranks, {place}, of {nodes}",
        transport="memory",
        ends=tuple(host_end(core) for core in itertools.islice(itertools.cycle(used), ranks)),
    )


def _too_few(ranks: int, cores: int) -> NoPath:
    return NoPath(
        f"host x{ranks}",
        f"this process may use {count(cores, 'core')} only; allow it more CPUs (or let ranks share "
        f"them: --ranks {ranks} --oversubscribe)",
        ranks,
    )


def _memory(machine: Machine, cores: Cores) -> list[DataPath | NoPath]:
    """The cores of each NUMA node on the host memory of each: ceilings only."""
    memories = (
        memory
        for memory in machine.numa_nodes
        if memory.memory != "gpu" and memory.memory_bytes != 0
    )
    return list(itertools.chain(*(_of_memory(machine, memory, cores) for memory in memories)))


def _of_memory(machine: Machine, memory: NumaNode, cores: Cores) -> Iterator[DataPath | NoPath]:
    name = f"host-memory node{memory.index}"
    if machine.allowed_nodes is not None and memory.index not in machine.allowed_nodes:
        yield NoPath(name, f"this process may take no memory of NUMA node {memory.index}")
        return
    if memory.index not in cores:
        reason = "this process may not use its cores" if memory.cpus else "it has no cores"
        yield NoPath(name, f"{reason}; measured from other nodes")
    for node in sorted(cores, key=lambda node: (node != memory.index, node)):
        yield _local(memory, node, cores[node])


def _local(memory: NumaNode, node: int, cores: list[Core]) -> DataPath:
    is_local = node == memory.index
    cpus = [core.cpus[0] for core in cores]
    return DataPath(
        id=f"host-memory node{memory.index}" + ("" if is_local else f" from node{node}"),
        summary=f"{'CXL ' if memory.memory == 'cxl' else ''}memory of NUMA node {memory.index}, "
        + ("its own cores" if is_local else f"cores of node {node}")
        + (f" (distance {memory.distances[node]})" if node in memory.distances else ""),
        transport="local",
        ends=(
            Endpoint(memory="host", cpus=cpus, numa_node=node),
            Endpoint(memory="host", cpus=cpus, numa_node=memory.index),
        ),
    )
