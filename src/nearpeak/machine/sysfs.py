# SPDX-License-Identifier: Apache-2.0
"""The machine as Linux describes it in /sys and /proc."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import AF_INET, AF_INET6
from typing import Any

import psutil

from nearpeak.errors import UserError
from nearpeak.machine.gpus.all import discover_gpus
from nearpeak.machine.gpus.nvidia import DRIVER
from nearpeak.machine.gpus.pci import bridges, device_address, listed_node, only_node
from nearpeak.machine.machine import Cache, Core, Machine, Nic, NumaNode
from nearpeak.machine.tree import Tree, parse_list, read_tree

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
NET = "sys/class/net"
INFINIBAND = "sys/class/infiniband"
NDEV = "gid_attrs/ndevs/0"  # of a port: the network interface that its first address belongs to
NVIDIA = f"{DRIVER}/gpus"

# Numbers of the kernel's if_arp.h and if.h.
ARPHRD_INFINIBAND = 32
ARPHRD_LOOPBACK = 772
UP = re.compile(r"0x[0-9a-f]*[13579bdf]")  # flags with IFF_UP, the lowest bit
STATES_UP = ("up", "unknown")  # some drivers never say: the flag is then all there is
NO_MODEL = "unknown"  # of a processor
FIRMWARE = ("sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name")

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
    tree = read_tree(root)
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
    allowed_cpus = _allowed(status, "Cpus_allowed_list", online)
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
        allowed_cpus=online if allowed_cpus is None else allowed_cpus,
        allowed_nodes=_allowed(status, "Mems_allowed_list", [node.index for node in numa_nodes]),
        gpus=gpus.gpus,
        gpu_links=gpus.links,
        gpu_notes=gpus.notes,
        mps=gpus.mps,
    )


def _allowed(status: dict[str, str], field: str, present: list[int]) -> list[int] | None:
    """The present CPUs or nodes that a field of /proc/self/status lists; None without a list."""
    try:
        return sorted({*parse_list(status[field])}.intersection(present))
    except (KeyError, ValueError):
        return None


def distances(tree: Tree, node: int) -> dict[int, int]:
    """The node's distance to each node, itself included; the kernel's scale, where 10 is local."""
    values = map(int, tree.text(f"{NODE}/node{node}/distance").split())
    try:
        return dict(zip(tree.indices(NODE, "node"), values, strict=True))
    except ValueError:
        return {node: 10}


def device_node(tree: Tree, device: str, numa_nodes: list[NumaNode]) -> int | None:
    """The NUMA node of the device in this folder of sys/class; None where it is not known."""
    if not tree.exists(f"{device}/device"):
        return None
    # A virtio or USB device has no node of its own: the PCI device above it has.
    for folder in tree.above(f"{device}/device"):
        if tree.integer(f"{folder}/numa_node") is not None:
            return listed_node(tree, f"{folder}/numa_node", numa_nodes)
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
            cpus=tree.cpus(f"{NODE}/node{index}/cpulist", f"{NODE}/node{index}/cpumap"),
            memory_bytes=tree.kibibytes(f"{NODE}/node{index}/meminfo", f"Node {index} MemTotal"),
            distances=distances(tree, index),
            memory="gpu" if index in gpu_nodes else "host",
        )
        for index in indices
    ]


def _gpu_nodes(tree: Tree) -> set[int]:
    """The nodes that NVIDIA's driver says are a GPU's memory (POWER9, Grace-Hopper)."""
    nodes = (tree.fields(f"{NVIDIA}/{gpu}/numa_status") for gpu in tree.names(NVIDIA))
    return {int(node["Node"]) for node in nodes if node.get("Node", "").isdecimal()}


def _online(tree: Tree) -> list[int]:
    online = tree.numbers(f"{CPU}/online") or [  # before Linux 2.6.26
        cpu for cpu in tree.indices(CPU, "cpu") if tree.integer(f"{CPU}/cpu{cpu}/online") != 0
    ]
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
        package = tree.natural(f"{folder}/physical_package_id")
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
            kind = tree.text(f"{cache}/type").lower()
            size = re.fullmatch(r"(\d+)K", tree.text(f"{cache}/size"))
            sharing = tree.cpus(f"{cache}/shared_cpu_list", f"{cache}/shared_cpu_map")
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
        kind = _kind(tree, folder)
        up = UP.fullmatch(tree.text(f"{folder}/flags"))
        if not (kind and up and tree.text(f"{folder}/operstate") in STATES_UP):
            continue
        # Linux says 10000 Mbit/s for every veth: of a virtual interface the number means nothing.
        megabits = tree.natural(f"{folder}/speed") if kind != "virtual" else None
        nics.append(
            Nic(
                name=name,
                kind=kind,
                numa_node=near(folder),
                rate_gbs=megabits / 8000 if megabits else None,
                addresses=addresses.get(name, []),
                verbs=adapters.get(name),
                **_place(tree, folder),
            )
        )
    return nics


def _kind(tree: Tree, folder: str) -> str:
    """The kind of the network interface in this folder of sys/class; empty for loopback, and where
    the kernel does not say."""
    unclear = {ARPHRD_INFINIBAND: "infiniband", ARPHRD_LOOPBACK: "", None: ""}
    real = tree.exists(f"{folder}/bonding") or tree.exists(f"{folder}/device")
    return unclear.get(tree.integer(f"{folder}/type"), "ethernet" if real else "virtual")


def _infiniband_ports(tree: Tree, near: Callable[[str], int | None]) -> list[Nic]:
    """Active InfiniBand ports, named as UCX names them (mlx5_0:1).

    A port whose link layer is Ethernet is left out: it is a network interface already.
    """
    nics: list[Nic] = []
    for device, port, folder in _ports(tree, "InfiniBand"):
        if "ACTIVE" not in tree.text(f"{folder}/state"):
            continue
        rate = re.match(r"(\d+(?:\.\d+)?) Gb/sec", tree.text(f"{folder}/rate"))
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
    return {"pci": pci or None, "upstream": bridges(tree, pci)[:-1]}


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
        ip = (entry.address for entry in entries if entry.family in (AF_INET, AF_INET6))
        addresses[name] = [address for address in ip if "%" not in address]
    return addresses


def _cpu_model(cpuinfo: dict[str, str]) -> str:
    """The processor's name: x86 says "model name", POWER "cpu", Arm numbers only."""
    name = cpuinfo.get("model name") or cpuinfo.get("cpu")
    if name:
        return " ".join(name.split())
    arm = (cpuinfo.get("CPU implementer", ""), cpuinfo.get("CPU part", ""))
    if all(arm):
        return ARM_MODELS.get(arm, f"Arm implementer {arm[0]} part {arm[1]}")
    return NO_MODEL


def _virtual(tree: Tree, cpuinfo: dict[str, str]) -> bool:
    """True if a hypervisor is below: by x86's flag, KVM on POWER, Xen, or the firmware's names."""
    firmware = " ".join(map(tree.text, FIRMWARE))
    return bool(
        "hypervisor" in cpuinfo.get("flags", "").split()
        or "emulated by qemu" in cpuinfo.get("machine", "")
        or tree.text("sys/hypervisor/type")
        or re.search(r"QEMU|KVM|VMware|Virtual Machine|Google Compute", firmware)
    )
