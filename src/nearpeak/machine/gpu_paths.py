# SPDX-License-Identifier: Apache-2.0
"""The data paths that begin or end in a GPU. docs/reference/data-paths.md lists the ids."""

import itertools
from collections.abc import Sequence

import msgspec

from nearpeak.machine.machine import Core, Gpu, GpuLink, Machine, Nic
from nearpeak.machine.places import (
    NO_HOSTS,
    Cores,
    Ranks,
    distance,
    fabric_ports,
    host_end,
    neighbours,
    no_second_node,
    same_package,
    towards,
)
from nearpeak.machine.rails import EFA, direct_gbs, joined, nearness, rails_of
from nearpeak.machine.rates import bottleneck
from nearpeak.numbers import count
from nearpeak.terms.path import NO_DEVICE, DataPath, Endpoint, NoPath
from nearpeak.terms.private import without_address

SAME_GPU = "gpu-gpu same-gpu"
SAME_GPU_MPS = "gpu-gpu same-gpu mps"
NEAR = "host-gpu near"
NEAR_SAME_GPU = "host-gpu near same-gpu"
FAR = "host-gpu far"
NODE_UNKNOWN = "host-gpu node-unknown"  # where no GPU's NUMA node is known
NODE_UNKNOWN_SAME_GPU = "host-gpu node-unknown same-gpu"
TWO_NODES = "gpu-gpu two-nodes"
HOST_TWO_NODES = "host-gpu two-nodes"
LOOPBACK = "gpu-gpu nic-loopback"
FAR_NIC = "gpu-gpu two-nodes far-nic"
ANY = "gpu-gpu, host-gpu"  # all of them, where none can be

# Kinds of links between two GPUs, nearest first, in words; the vendors that have them.
KINDS = {
    "package": ("their package", ()),
    "nvlink": ("NVLink", ("nvidia",)),
    "xgmi": ("xGMI", ("amd",)),
    "pcie-switch": ("a PCIe switch", ("nvidia", "amd")),
    "host-bridge": ("the CPU's PCIe root ports", ("nvidia", "amd")),
    "cross-socket": ("the link between CPU sockets or NUMA nodes", ("nvidia", "amd")),
    "unknown": ("a way that is not known", ()),
}
HOST_LINKS = {"package": "in one package with the CPU"}  # those that are no words themselves


def takes_turns(path: str) -> bool:
    """True if both ranks of a path, by its id, hold one GPU whose contexts take turns."""
    return "same-gpu" in path.split() and "mps" not in path.split()


def gpu_paths(
    machine: Machine, cores: Cores, hosts: Sequence[str], all_pairs: bool, ranks: Ranks
) -> list[DataPath | NoPath]:
    """The paths, and a NoPath for each that this machine lacks.

    `cores`: those that this process may use, by NUMA node. A machine without GPUs has one NoPath
    with its notes on GPUs, if there are any.
    """
    if not machine.gpus:
        return [NoPath(ANY, "; ".join(machine.gpu_notes))] if machine.gpu_notes else []
    if sum(map(len, cores.values())) < 2:
        return [NoPath(ANY, "this process may use one core only; allow it two CPUs or more")]
    gpu = machine.gpus[0]
    paths = [*_same_gpu(machine, cores, gpu), *_one_of_each_kind(machine, cores)]
    paths += _host(machine, cores)
    paths += _many(machine, cores, ranks)
    if all_pairs:
        paths += [*_pairs(machine, cores), *_loopback(machine, cores)]
    return [*paths, *_two_nodes(machine, cores, hosts, all_pairs)]


def _home(machine: Machine, cores: Cores, gpu: Gpu) -> int:
    """The NUMA node whose cores serve the GPU: its own, or the nearest with usable cores; the first
    where its own is not known."""
    if gpu.numa_node is None:
        return min(cores)
    near = gpu.numa_node
    return min(cores, key=lambda node: (node != near, distance(machine, near, node), node))


def _two_cores(machine: Machine, cores: Cores, home: int, other: int) -> tuple[Core, Core]:
    """Two different cores of these nodes, or of the nearest node that has a core left."""
    if home == other and len(cores[home]) >= 2:
        first, second, _ = neighbours(machine, cores[home])
        return first, second
    first = cores[home][0]
    free = {**cores, home: cores[home][1:]}
    nearest = min(
        (node for node, left in free.items() if left),
        key=lambda node: (node != other, distance(machine, other, node), node),
    )
    return first, free[nearest][0]


def _gpu_end(core: Core, gpu: Gpu, host: str | None = None) -> Endpoint:
    """An end in a GPU's memory; between hosts by number, as the other host's uuids are unknown."""
    return Endpoint(
        memory="gpu",
        cpus=core.cpus[:1],
        numa_node=core.numa_node,
        gpu=gpu.uuid if host is None else gpu.number,
        host=host,
    )


def _same_gpu(machine: Machine, cores: Cores, gpu: Gpu) -> list[DataPath | NoPath]:
    home = _home(machine, cores, gpu)
    first, second = _two_cores(machine, cores, home, home)

    def path(name: str, sharing: str) -> DataPath:
        return DataPath(
            id=name,
            summary=f"GPU {gpu.index} ({gpu.name}) to itself, {sharing}; the peak is half the rate "
            "of its memory, as each byte is read and written",
            transport="memory",
            ends=(_gpu_end(first, gpu), _gpu_end(second, gpu)),
            theoretical_gbs=None if gpu.memory_gbs is None else gpu.memory_gbs / 2,
        )

    alone = path(SAME_GPU, "time-sliced between two ranks")
    if machine.mps:
        shared = path(SAME_GPU_MPS, "two ranks at once through MPS")
        return [alone, msgspec.structs.replace(shared, mps=True, variant_of=SAME_GPU)]
    if gpu.vendor == "nvidia":
        reason = "no nvidia-cuda-mps-control on PATH (NVIDIA's driver has it)"
        return [alone, NoPath(SAME_GPU_MPS, reason)]
    return [alone]


def _one_of_each_kind(machine: Machine, cores: Cores) -> list[DataPath | NoPath]:
    """The first pair of each kind of link."""
    if len(machine.gpus) < 2:
        return [NoPath("gpu-gpu between two", "this process may use one GPU only")]
    links = sorted(machine.gpu_links, key=lambda link: (link.one, link.other), reverse=True)
    first = {link.kind: link for link in links}
    paths: list[DataPath | NoPath] = []
    for kind, (label, vendors) in KINDS.items():
        if kind in first:
            paths.append(_between(machine, cores, first[kind], f"gpu-gpu {kind}"))
        elif machine.gpus[0].vendor in vendors:
            paths.append(
                NoPath(f"gpu-gpu {kind}", f"no two GPUs have {label} as their nearest way")
            )
    return paths


def _between(
    machine: Machine, cores: Cores, link: GpuLink, name: str, pair: tuple[str, ...] = ()
) -> DataPath:
    by_index = {gpu.index: gpu for gpu in machine.gpus}
    gpu, other = by_index[link.one], by_index[link.other]
    first, second = _two_cores(
        machine, cores, _home(machine, cores, gpu), _home(machine, cores, other)
    )
    refused = f"; no direct copies: {link.peer}" if link.peer else ""
    return DataPath(
        id=name,
        summary=f"GPUs {gpu.index} and {other.index} ({gpu.name}) through {KINDS[link.kind][0]}"
        + refused,
        transport="memory",
        ends=(_gpu_end(first, gpu), _gpu_end(second, other)),
        theoretical_gbs=link.gbs,
        pair=pair,
    )


def _host(machine: Machine, cores: Cores) -> list[DataPath | NoPath]:
    """The paths from host memory to the first GPU whose NUMA node is known."""
    gpu = next((gpu for gpu in machine.gpus if gpu.numa_node is not None), None)
    if gpu is None:
        return _from_unknown_node(machine, cores)
    home = _home(machine, cores, gpu)
    far = max(cores, key=lambda node: (node != home, distance(machine, home, node), -node))
    return [
        _from_node(machine, cores, home, gpu, NEAR),
        no_second_node(machine, FAR) if far == home else _from_node(machine, cores, far, gpu, FAR),
        _from_node(machine, cores, home, gpu, NEAR_SAME_GPU, same_gpu_as=NEAR),
    ]


def _from_unknown_node(machine: Machine, cores: Cores) -> list[DataPath | NoPath]:
    """The paths from the first NUMA node, which may be near to the first GPU or far from it."""
    gpu, node = machine.gpus[0], min(cores)
    reason = "nobody knows the NUMA node of a GPU (firmware or hypervisor say -1)"
    return [
        _from_node(machine, cores, node, gpu, NODE_UNKNOWN),
        *(NoPath(name, reason) for name in (NEAR, FAR)),
        _from_node(machine, cores, node, gpu, NODE_UNKNOWN_SAME_GPU, same_gpu_as=NODE_UNKNOWN),
    ]


def _held(machine: Machine, cores: Cores, node: int, gpu: Gpu) -> Gpu | None:
    """The other GPU nearest to a node; None without one.

    A rank with memory of the node holds it, as programs give each rank its own GPU.
    """
    others = [other for other in machine.gpus if other != gpu and other.vendor == gpu.vendor]
    return min(
        others,
        key=lambda other: (distance(machine, node, _home(machine, cores, other)), other.index),
        default=None,
    )


def _from_node(
    machine: Machine,
    cores: Cores,
    node: int,
    gpu: Gpu,
    name: str,
    pair: tuple[str, ...] = (),
    *,
    same_gpu_as: str = "",
) -> DataPath:
    """The path between a node's memory and a GPU.

    `same_gpu_as`: the path of which this is the variant whose host rank holds the same GPU.
    Otherwise the host rank holds another GPU, or none.
    """
    home = _home(machine, cores, gpu)
    held = gpu if same_gpu_as else _held(machine, cores, node, gpu)
    held_label = f"GPU {held.index}, its own" if held else "no GPU"
    if same_gpu_as:
        held_label = "the same GPU, time-sliced"
    gpu_node = "unknown" if gpu.numa_node is None else gpu.numa_node
    first, second = _two_cores(machine, cores, node, home)
    # Between packages their link is on the way, whose rate is not known.
    one_package = gpu.numa_node is not None and same_package(machine, node, gpu.numa_node)
    return DataPath(
        id=name,
        summary=f"memory of NUMA node {node} and GPU {gpu.index} ({gpu.name}), "
        f"{HOST_LINKS.get(gpu.host_link, gpu.host_link)} at node {gpu_node}; the host's rank holds "
        f"{held_label}",
        transport="memory",
        ends=(
            host_end(first, device=held.uuid if held else NO_DEVICE),
            _gpu_end(second, gpu),
        ),
        theoretical_gbs=gpu.host_gbs if one_package else None,
        # Without a second GPU it serves only libraries that require a GPU in each rank.
        variant_of=same_gpu_as if _held(machine, cores, node, gpu) else "",
        pair=pair,
    )


def _many(machine: Machine, cores: Cores, ranks: Ranks) -> list[DataPath | NoPath]:
    """Paths of several ranks, each with its own GPU."""
    available = len(machine.gpus)
    counts = [number for number in ranks.up_to(available) if ranks.counts or number <= available]
    return [_ranks_on_gpus(machine, cores, number) for number in counts]


def path_of_rails(
    machine: Machine, cores: Cores, hosts: Sequence[str], numbers: Sequence[str]
) -> DataPath | NoPath:
    """One rank for each of these GPUs on each host, host by host, on the nearest free core.

    Every second host begins with the cores that the first leaves, where they are as near: hosts may
    be containers of one machine.
    """
    ranks = len(numbers) * len(hosts)
    name = f"gpu x{ranks} {len(hosts)}-nodes"
    by_number = {gpu.number: gpu for gpu in machine.gpus}
    if lacking := [number for number in numbers if number not in by_number]:
        notes = "".join(f" ({note})" for note in machine.gpu_notes)
        listed = ", ".join(by_number) or "none"
        return NoPath(name, f"this process may not use GPU {lacking[0]}; it has {listed}{notes}")
    gpus = [by_number[number] for number in numbers]
    first = _nearest_cores(machine, cores, gpus)
    if first is None:
        reason = f"this process may use {sum(map(len, cores.values()))} cores only"
        return NoPath(name, f"{reason}; allow it one for each of {len(gpus)} GPUs", ranks)
    taken = {core.cpus[0] for core in first}
    left = {
        node: [core for core in usable if core.cpus[0] not in taken]
        for node, usable in cores.items()
    }
    other = _nearest_cores(machine, left, gpus) or first
    if [core.numa_node for core in other] != [core.numa_node for core in first]:
        other = first
    return DataPath(
        id=name,
        summary=f"{count(len(gpus), 'GPU')} of {len(hosts)} hosts, a rank for each, {hosts[0]} to "
        f"{hosts[-1]} ({gpus[0].name})",
        transport="network",
        ends=tuple(
            _gpu_end(core, gpu, host)
            for place, host in enumerate(hosts)
            for core, gpu in zip((first, other)[place % 2], gpus, strict=True)
        ),
    )


def _nearest_cores(machine: Machine, cores: Cores, gpus: Sequence[Gpu]) -> list[Core] | None:
    """The nearest free core of each GPU in turn; None where the cores are too few."""
    left = [(node, core) for node, usable in cores.items() for core in usable]
    if len(left) < len(gpus):
        return None
    nearest = []
    for gpu in gpus:
        home = _home(machine, cores, gpu)
        near = min(left, key=lambda place: _farness(machine, home, *place))
        left.remove(near)
        nearest.append(near[1])
    return nearest


def _ranks_on_gpus(machine: Machine, cores: Cores, ranks: int) -> DataPath | NoPath:
    """One rank for each of the first GPUs, on the nearest free core."""
    name = f"gpu x{ranks}"
    if len(machine.gpus) < ranks:
        reason = f"this process may use {count(len(machine.gpus), 'GPU')} only"
        return NoPath(name, reason, ranks)
    nearest = _nearest_cores(machine, cores, machine.gpus[:ranks])
    if nearest is None:
        available = sum(map(len, cores.values()))
        reason = f"this process may use {available} cores only; allow it one for each GPU"
        return NoPath(name, reason, ranks)
    pairs = zip(nearest, machine.gpus[:ranks], strict=True)
    ends = [_gpu_end(core, gpu) for core, gpu in pairs]
    single = f"one rank with GPU {machine.gpus[0].index}"
    several = f"{ranks} ranks, each with a GPU of its own of {len(machine.gpus)}"
    return DataPath(
        id=name,
        summary=f"{single if ranks == 1 else several} ({machine.gpus[0].name})",
        transport="memory",
        ends=tuple(ends),
    )


def _farness(machine: Machine, home: int, node: int, core: Core) -> tuple[bool, int, int]:
    return node != home, distance(machine, home, node), core.cpus[0]


def _pairs(machine: Machine, cores: Cores) -> list[DataPath]:
    paths = []
    for link in machine.gpu_links:
        pair = str(link.one), str(link.other)
        paths.append(_between(machine, cores, link, f"gpu-gpu pair {'-'.join(pair)}", pair))
    for node, gpu in itertools.product(cores, machine.gpus):
        pair = f"node{node}", f"gpu{gpu.index}"
        name = f"host-gpu pair {'-'.join(pair)}"
        paths.append(_from_node(machine, cores, node, gpu, name, pair))
    return paths


def _loopback(machine: Machine, cores: Cores) -> list[DataPath | NoPath]:
    """The path from the GPU nearest to its RDMA adapter through that and back: perftest measures
    it on one host."""
    rails = [(gpu, nic) for gpu, nic in _rails(machine) if nic.perftest_port]
    if not rails:
        return [NoPath(LOOPBACK, "no RDMA adapter is near to a GPU")]
    gpu, nic = max(rails, key=lambda rail: nearness(*rail))
    home = _home(machine, cores, gpu)
    first, second = _two_cores(machine, cores, home, home)
    return [
        DataPath(
            id=LOOPBACK,
            summary=f"{_named(gpu)} through {nic.name} to itself, by perftest and no library",
            transport="network",
            ends=(_gpu_end(first, gpu), _gpu_end(second, gpu)),
            adapter=nic.perftest_port,
        )
    ]


def _rails(machine: Machine, nics: Sequence[Nic] | None = None) -> list[tuple[Gpu, Nic]]:
    adapters = rails_of(machine, nics)
    return [(gpu, joined(adapters[gpu.index])) for gpu in machine.gpus if gpu.index in adapters]


def _two_nodes(
    machine: Machine, cores: Cores, hosts: Sequence[str], all_pairs: bool
) -> list[DataPath | NoPath]:
    """Paths between two hosts, from the GPU nearest to its adapter, else from the first GPU;
    `all_pairs` adds each GPU through its own adapter."""
    if not hosts:
        return [NoPath(name, NO_HOSTS) for name in (TWO_NODES, HOST_TWO_NODES)]
    route = towards(machine, hosts)
    ports = fabric_ports(machine)
    nics = [nic for nic in ports if nic.rate_gbs == route.rate_gbs] if route in ports else [route]
    rails = _rails(machine, nics)
    gpu, nic = max(rails, key=lambda rail: nearness(*rail), default=(machine.gpus[0], route))
    both = _to_second_host(machine, cores, hosts, TWO_NODES, gpu, nic)
    sender, receiver = both.ends
    host = msgspec.structs.replace(sender, memory="host", gpu=None, device=sender.gpu)
    mixed = msgspec.structs.replace(
        both,
        id=HOST_TWO_NODES,
        summary=_through(hosts, nic, f"host memory to {_named(gpu)}")
        + "; each rank holds a GPU of its host",
        ends=(host, receiver),
        theoretical_gbs=bottleneck([both.theoretical_gbs, nic.path_gbs]),
    )
    placed = bool(rails) and gpu.numa_node is not None
    forcible = nic.kind != EFA  # libraries use it through libfabric, which UCX_NET_DEVICES misses
    far = [
        nic for nic in nics if placed and forcible and nic.numa_node not in (None, gpu.numa_node)
    ]
    return [
        both,
        mixed,
        _forced(machine, cores, hosts, FAR_NIC, gpu, far[-1])
        if far
        else NoPath(FAR_NIC, "no adapter as fast sits at another NUMA node than a GPU's own"),
        *(
            _rail(machine, cores, hosts, *rail)
            for rail in rails
            if all_pairs and forcible and _has_own_adapter(*rail)
        ),
    ]


def _has_own_adapter(gpu: Gpu, nic: Nic) -> bool:
    """True if a GPU's adapter is its rail: one of Ethernet, only below the same switch."""
    return nic.kind != "ethernet" or bool(nic.verbs and nearness(gpu, nic).bridges)


def _rail(machine: Machine, cores: Cores, hosts: Sequence[str], gpu: Gpu, nic: Nic) -> DataPath:
    """The path between two hosts of a GPU through its own adapter."""
    pair = f"gpu{gpu.index}", without_address(nic.name, gpu.index)  # in the id, which is public
    path = _forced(machine, cores, hosts, f"{TWO_NODES} pair {'-'.join(pair)}", gpu, nic)
    return msgspec.structs.replace(path, pair=pair)


def _forced(
    machine: Machine, cores: Cores, hosts: Sequence[str], name: str, gpu: Gpu, nic: Nic
) -> DataPath:
    """The path between two hosts that forces an adapter."""
    path = _to_second_host(machine, cores, hosts, name, gpu, nic)
    return msgspec.structs.replace(path, nic=nic.verbs or nic.name)


def _to_second_host(
    machine: Machine, cores: Cores, hosts: Sequence[str], name: str, gpu: Gpu, nic: Nic
) -> DataPath:
    """The path from a GPU of the first host to the same GPU of the second."""
    home = _home(machine, cores, gpu)
    first, second = _two_cores(machine, cores, home, home)
    # Hosts of one clique may use NVLink instead of the adapter.
    fabric = f", or over NVLink if both are in its {gpu.fabric}" if gpu.fabric else ""
    return DataPath(
        id=name,
        summary=_through(hosts, nic, _named(gpu)) + fabric,
        transport="network",
        ends=(_gpu_end(first, gpu, hosts[0]), _gpu_end(second, gpu, hosts[1])),
        theoretical_gbs=None if gpu.fabric else direct_gbs(gpu, nic),
        adapter=nic.perftest_port,
    )


def _named(gpu: Gpu) -> str:
    return f"GPU {gpu.index} ({gpu.name})"


def _through(hosts: Sequence[str], nic: Nic, ends: str) -> str:
    """`a to b through mlx5_0:1, GPU 0 (NVIDIA H200)`."""
    adapter = f" through {nic.name}" if nic.name else ""
    return f"{hosts[0]} to {hosts[1]}{adapter}, {ends}"
