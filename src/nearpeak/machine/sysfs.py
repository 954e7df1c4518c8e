# SPDX-License-Identifier: Apache-2.0
"""The machine as Linux describes it in /sys and /proc."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from nearpeak.errors import UserError
from nearpeak.machine.gpus.all import discover_gpus
from nearpeak.machine.gpus.nvidia import DRIVER
from nearpeak.machine.gpus.pci import bridges, device_address, listed_node, only_node
from nearpeak.machine.machine import Cache, Core, Machine, Nic, NumaNode
from nearpeak.machine.tree import Tree, parse_list

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
NET = "sys/class/net"
INFINIBAND = "sys/class/infiniband"
NDEV = "gid_attrs/ndevs/0"  # of a port: the network interface that its first address belongs to
NVIDIA = f"{DRIVER}/gpus"

# Numbers of the kernel's if_arp.h and if.h.
ARPHRD_INFINIBAND = 32
ARPHRD_LOOPBACK = 772
IFF_UP = 0x1

# Arm's processors say numbers, not names: (implementer, part) as in the processors' manuals.
ARM_MODELS = {
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0x41", "0xd0c"): "Arm Neoverse N1",
    ("0x41", "0xd40"): "Arm Neoverse V1",
    ("0x41", "0xd49"): "Arm Neoverse N2",
    ("0x41", "0xd4f"): "Arm Neoverse V2",
    ("0x46", "0x001"): "Fujitsu A64FX",
}


def from_sysfs(root: Path = Path("/")) -> Machine:
    """The machine whose /sys and /proc lie under `root`, or which was recorded in that file.

    UserError without one.
    """
    tree = Tree(root)
    numa_nodes = _numa_nodes(tree)
    return assemble(
        tree,
        source="sysfs",
        cores=_cores(tree, numa_nodes),
        caches=_caches(tree),
        numa_nodes=numa_nodes,
        near=lambda device: device_node(tree, device, numa_nodes),
    )


def assemble(
    tree: Tree,
    *,
    source: str,
    cores: list[Core],
    caches: list[Cache],
    numa_nodes: list[NumaNode],
    near: Callable[[str], int | None],
) -> Machine:
    """A Machine of the given topology; everything else is read from the tree.

    `near` returns the NUMA node of a device for its folder under sys/class.
    """
    cpuinfo = tree.fields("proc/cpuinfo")
    status = tree.fields("proc/self/status")
    online = sorted(cpu for core in cores for cpu in core.cpus)
    allowed_cpus, allowed_nodes = online, None
    if (cpus := _listed(status, "Cpus_allowed_list")) is not None:
        allowed_cpus = sorted(cpus & set(online))
    if (nodes := _listed(status, "Mems_allowed_list")) is not None:
        allowed_nodes = sorted(nodes & {node.index for node in numa_nodes})
    gpus = discover_gpus(tree, numa_nodes)
    return Machine(
        hostname=tree.text("proc/sys/kernel/hostname") or "unknown",
        # Linux has this file since 6.1.
        architecture=tree.text("proc/sys/kernel/arch")
        or (os.uname().machine if tree.live else "unknown"),
        cpu_model=_cpu_model(cpuinfo),
        kernel=tree.text("proc/sys/kernel/osrelease") or "unknown",
        source=source,
        virtual=_virtual(tree, cpuinfo),
        cores=sorted(cores, key=lambda core: core.cpus[0]),
        caches=sorted(caches, key=lambda cache: (cache.level, cache.kind, cache.cpus[0])),
        numa_nodes=sorted(numa_nodes, key=lambda node: node.index),
        nics=_network_interfaces(tree, near) + _infiniband_ports(tree, near),
        allowed_cpus=allowed_cpus,
        allowed_nodes=allowed_nodes,
        gpus=gpus.gpus,
        gpu_links=gpus.links,
        gpu_notes=gpus.notes,
        mps=gpus.mps,
    )


def _listed(status: dict[str, str], field: str) -> set[int] | None:
    """The numbers that a field of /proc/self/status lists; None where there is no such list."""
    try:
        return set(parse_list(status[field]))
    except (KeyError, ValueError):
        return None


def distances(tree: Tree, node: int) -> dict[int, int]:
    """The node's distance to each node, itself included; the kernel's scale, where 10 is local."""
    values = (tree.text(f"{NODE}/node{node}/distance") or "").split()
    nodes = tree.indices(NODE, "node")
    if len(values) != len(nodes) or not all(value.isdecimal() for value in values):
        return {node: 10}
    return {other: int(value) for other, value in zip(nodes, values, strict=True)}


def device_node(tree: Tree, device: str, numa_nodes: list[NumaNode]) -> int | None:
    """The NUMA node of the device in this folder of sys/class; None where it is not known."""
    if not tree.exists(f"{device}/device"):
        return None
    # A virtio or USB device has no node of its own: the PCI device above it has.
    for folder in tree.above(f"{device}/device"):
        node = tree.integer(f"{folder}/numa_node")
        if node is not None:
            return listed_node(node, numa_nodes)
    return only_node(numa_nodes)


def _numa_nodes(tree: Tree) -> list[NumaNode]:
    indices = tree.indices(NODE, "node")
    if not indices:  # a kernel built without NUMA
        return [
            NumaNode(
                index=0,
                cpus=_online(tree),
                memory_bytes=tree.kibibytes("proc/meminfo", "MemTotal"),
                distances={0: 10},
            )
        ]
    gpu_nodes = _gpu_nodes(tree)
    return [
        NumaNode(
            index=index,
            cpus=tree.cpus(f"{NODE}/node{index}/cpulist", f"{NODE}/node{index}/cpumap") or [],
            memory_bytes=tree.kibibytes(f"{NODE}/node{index}/meminfo", f"Node {index} MemTotal"),
            distances=distances(tree, index),
            memory="gpu" if index in gpu_nodes else "host",
        )
        for index in indices
    ]


def _gpu_nodes(tree: Tree) -> set[int]:
    """The nodes that NVIDIA's driver says are a GPU's memory (POWER9, Grace-Hopper)."""
    indices = (tree.fields(f"{NVIDIA}/{gpu}/numa_status").get("Node") for gpu in tree.names(NVIDIA))
    return {int(node) for node in indices if node and node.isdecimal()}


def _online(tree: Tree) -> list[int]:
    online = tree.numbers(f"{CPU}/online")
    if online is None:  # before Linux 2.6.26
        present = tree.indices(CPU, "cpu")
        online = [cpu for cpu in present if tree.integer(f"{CPU}/cpu{cpu}/online") != 0]
    if not online:
        raise UserError(
            f"no CPUs in {tree.root / CPU}: Nearpeak needs Linux with /sys mounted; mount it"
        )
    return online


def _cores(tree: Tree, numa_nodes: list[NumaNode]) -> list[Core]:
    owner = {cpu: node.index for node in numa_nodes for cpu in node.cpus}
    online = _online(tree)
    cores: list[Core] = []
    seen: set[int] = set()
    for cpu in online:
        if cpu in seen:
            continue
        folder = f"{CPU}/cpu{cpu}/topology"
        siblings = (
            tree.numbers(f"{folder}/core_cpus_list")
            # before Linux 5.3
            or tree.cpus(f"{folder}/thread_siblings_list", f"{folder}/thread_siblings")
            or [cpu]
        )
        cpus = sorted({cpu} | (set(siblings) & set(online)))
        seen.update(cpus)
        package = tree.integer(f"{folder}/physical_package_id")
        if package is not None and package < 0:  # the firmware says nothing
            package = None
        cores.append(Core(cpus=cpus, package=package, numa_node=owner.get(cpu)))
    return cores


def _caches(tree: Tree) -> list[Cache]:
    caches: dict[tuple[int, str, tuple[int, ...]], Cache] = {}
    online = set(_online(tree))
    for cpu in sorted(online):
        folder = f"{CPU}/cpu{cpu}/cache"
        for index in tree.indices(folder, "index"):
            cache = f"{folder}/index{index}"
            level = tree.integer(f"{cache}/level")
            kind = (tree.text(f"{cache}/type") or "").lower()
            size = re.fullmatch(r"(\d+)K", tree.text(f"{cache}/size") or "")
            sharing = tree.cpus(f"{cache}/shared_cpu_list", f"{cache}/shared_cpu_map") or []
            cpus = sorted({cpu} | (set(sharing) & online))
            if level is not None and kind and size:
                caches[level, kind, tuple(cpus)] = Cache(
                    level=level, kind=kind, size_bytes=int(size[1]) * 1024, cpus=cpus
                )
    return list(caches.values())


def _network_interfaces(tree: Tree, near: Callable[[str], int | None]) -> list[Nic]:
    addresses = _addresses() if tree.live else {}
    adapters = _ethernet_adapters(tree)
    nics: list[Nic] = []
    for name in tree.names(NET):
        folder = f"{NET}/{name}"
        hardware = tree.integer(f"{folder}/type")
        flags = tree.text(f"{folder}/flags") or ""
        up = re.fullmatch(r"0x[0-9a-f]+", flags) and int(flags, 16) & IFF_UP
        # Some drivers never say whether they are up ("unknown"); the flag is then all there is.
        state = tree.text(f"{folder}/operstate")
        if hardware in (None, ARPHRD_LOOPBACK) or not up or state not in ("up", "unknown"):
            continue
        bond = tree.exists(f"{folder}/bonding")
        if hardware == ARPHRD_INFINIBAND:
            kind = "infiniband"
        else:
            kind = "ethernet" if bond or tree.exists(f"{folder}/device") else "virtual"
        # Linux says 10000 Mbit/s for every veth: of a virtual interface the number means nothing.
        megabits = tree.integer(f"{folder}/speed") if kind != "virtual" else None
        nics.append(
            Nic(
                name=name,
                kind=kind,
                numa_node=near(folder),
                rate_gbs=megabits / 8000 if megabits and megabits > 0 else None,
                addresses=addresses.get(name, []),
                verbs=adapters.get(name),
                **_place(tree, folder),
            )
        )
    return nics


def _infiniband_ports(tree: Tree, near: Callable[[str], int | None]) -> list[Nic]:
    """Active InfiniBand ports, named as UCX names them (mlx5_0:1).

    A port whose link layer is Ethernet is left out: it is a network interface already.
    """
    nics: list[Nic] = []
    for device, port, folder in _ports(tree, "InfiniBand"):
        if "ACTIVE" not in (tree.text(f"{folder}/state") or ""):
            continue
        rate = re.match(r"(\d+(?:\.\d+)?) Gb/sec", tree.text(f"{folder}/rate") or "")
        nics.append(
            Nic(
                name=f"{device}:{port}",
                kind="infiniband",
                numa_node=near(f"{INFINIBAND}/{device}"),
                rate_gbs=float(rate[1]) / 8 if rate else None,
                addresses=[],
                verbs=f"{device}:{port}",
                **_place(tree, f"{INFINIBAND}/{device}"),
            )
        )
    return nics


def _place(tree: Tree, folder: str) -> dict[str, Any]:
    """The PCIe place of the adapter in this folder of sys/class, as fields of Nic."""
    pci = device_address(tree, folder)
    return {"pci": pci, "upstream": bridges(tree, pci)[:-1] if pci else []}


def _ethernet_adapters(tree: Tree) -> dict[str, str]:
    """Network interface -> its RDMA device and port, where it has one (RoCE)."""
    ports = _ports(tree, "Ethernet")
    adapters = {tree.text(f"{folder}/{NDEV}"): f"{device}:{port}" for device, port, folder in ports}
    return {name: port for name, port in adapters.items() if name}


def _ports(tree: Tree, layer: str) -> Iterator[tuple[str, str, str]]:
    """The ports of RDMA devices with this link layer: device, port and folder of each."""
    for device in tree.names(INFINIBAND):
        for port in tree.names(f"{INFINIBAND}/{device}/ports", r"\d+"):
            folder = f"{INFINIBAND}/{device}/ports/{port}"
            if tree.text(f"{folder}/link_layer") == layer:
                yield device, port, folder


def _addresses() -> dict[str, list[str]]:
    """The IP addresses of each interface of this machine, without link-local ones."""
    addresses: dict[str, list[str]] = {}
    for name, entries in psutil.net_if_addrs().items():
        ip = [entry for entry in entries if entry.family.name in ("AF_INET", "AF_INET6")]
        addresses[name] = [entry.address for entry in ip if "%" not in entry.address]
    return addresses


def _cpu_model(cpuinfo: dict[str, str]) -> str:
    """The processor's name: x86 says "model name", POWER "cpu", Arm numbers only."""
    name = cpuinfo.get("model name") or cpuinfo.get("cpu")
    if name:
        return " ".join(name.split())
    arm = (cpuinfo.get("CPU implementer", ""), cpuinfo.get("CPU part", ""))
    if all(arm):
        return ARM_MODELS.get(arm, f"Arm implementer {arm[0]} part {arm[1]}")
    return "unknown"


def _virtual(tree: Tree, cpuinfo: dict[str, str]) -> bool:
    """True if a hypervisor is below: by x86's flag, KVM on POWER, Xen, or the firmware's names."""
    if "hypervisor" in cpuinfo.get("flags", "").split():
        return True
    if "emulated by qemu" in cpuinfo.get("machine", "") or tree.text("sys/hypervisor/type"):
        return True
    firmware = f"{tree.text('sys/class/dmi/id/sys_vendor')} " + (
        tree.text("sys/class/dmi/id/product_name") or ""
    )
    return bool(re.search(r"QEMU|KVM|VMware|Virtual Machine|Google Compute", firmware))
