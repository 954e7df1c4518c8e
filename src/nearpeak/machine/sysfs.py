# SPDX-License-Identifier: Apache-2.0
"""The machine as Linux describes it in /sys and /proc."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.machine.gpus.all import discover_gpus
from nearpeak.machine.gpus.nvidia import DRIVER
from nearpeak.machine.gpus.pci import listed_node, only_node
from nearpeak.machine.machine import Cache, Core, Machine, NumaNode
from nearpeak.machine.nics import read_nics
from nearpeak.machine.tree import Tree, parse_list, read_tree

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
NVIDIA = f"{DRIVER}/gpus"
CXL = "sys/bus/cxl/devices"
DAX = r"dax\d+\.\d+"  # a device of direct access to memory, by its name

NO_MODEL = "unknown"  # of a processor
FIRMWARE = ("sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name")

# Arm's processors say numbers, not names: (implementer, part) as in the processors' manuals.
ARM_MODELS = {
    # Names of LLVM's llvm/lib/TargetParser/Host.cpp and of the kernel's asm/cputype.h.
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0x41", "0xd0c"): "Arm Neoverse N1",
    ("0x41", "0xd40"): "Arm Neoverse V1",
    ("0x41", "0xd49"): "Arm Neoverse N2",
    ("0x41", "0xd4f"): "Arm Neoverse V2",
    ("0x41", "0xd84"): "Arm Neoverse V3",
    ("0x41", "0xd85"): "Arm Cortex-X925",
    ("0x41", "0xd87"): "Arm Cortex-A725",
    ("0x41", "0xd8e"): "Arm Neoverse N3",
    ("0x46", "0x001"): "Fujitsu A64FX",
    ("0x48", "0xd01"): "HiSilicon Kunpeng 920",
    ("0xc0", "0xac3"): "AmpereOne",
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
        cpu_model=_cpu_model(tree, cpuinfo),
        kernel=tree.text("proc/sys/kernel/osrelease") or "unknown",
        source=source,
        virtual=_virtual(tree, cpuinfo),
        cores=sorted(_with_capacities(tree, cores), key=lambda core: core.cpus[0]),
        caches=sorted(caches, key=lambda cache: (cache.level, cache.kind, cache.cpus[0])),
        numa_nodes=sorted(numa_nodes, key=lambda node: node.index),
        nics=read_nics(tree, near),
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
    kinds = memory_kinds(tree)
    online = {*_online(tree)}  # some kernels list CPUs that are offline, too
    return [
        NumaNode(
            index=index,
            cpus=sorted(online.intersection(_cpus_of_node(tree, index))),
            memory_bytes=tree.kibibytes(f"{NODE}/node{index}/meminfo", f"Node {index} MemTotal"),
            distances=distances(tree, index),
            memory=kinds.get(index, "host"),
        )
        for index in indices
    ]


def _cpus_of_node(tree: Tree, index: int) -> list[int]:
    return tree.cpus(f"{NODE}/node{index}/cpulist", f"{NODE}/node{index}/cpumap")


def memory_kinds(tree: Tree) -> dict[int, str]:
    """The kinds of memory of the NUMA nodes that are not the host's own DRAM."""
    return dict.fromkeys(_cxl_nodes(tree), "cxl") | dict.fromkeys(_gpu_nodes(tree), "gpu")


def _cxl_nodes(tree: Tree) -> Iterator[int]:
    """The nodes of CXL memory that the kernel uses as memory (sysfs-bus-dax: target_node)."""
    for region in tree.names(CXL, r"dax_region\d+"):
        for device in tree.names(f"{CXL}/{region}", DAX):
            node = tree.natural(f"{CXL}/{region}/{device}/target_node")
            if node is not None:
                yield node


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


def _with_capacities(tree: Tree, cores: list[Core]) -> list[Core]:
    """The cores with their speeds, if these differ (Arm's big and little ones, Intel's hybrids)."""
    speeds = [tree.natural(f"{CPU}/cpu{core.cpus[0]}/cpu_capacity") for core in cores]
    if len({*speeds}) < 2:
        return cores
    return [
        msgspec.structs.replace(core, capacity=speed)
        for core, speed in zip(cores, speeds, strict=True)
    ]


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


def _cpu_model(tree: Tree, cpuinfo: dict[str, str]) -> str:
    """The processor's name: x86 says "model name", POWER "cpu", Arm numbers only, of each kind of
    its cores."""
    name = cpuinfo.get("model name") or cpuinfo.get("cpu")
    if name:
        return " ".join(name.split())
    models = [
        ARM_MODELS.get(arm, f"Arm implementer {arm[0]} part {arm[1]}") for arm in arm_cores(tree)
    ]
    return " and ".join(models) or NO_MODEL


def arm_cores(tree: Tree) -> list[tuple[str, str]]:
    """Implementer and part of each kind of Arm's cores."""
    pattern = r"^CPU implementer\s*: *(\S+)(?s:.*?)^CPU part\s*: *(\S+)"
    return sorted({*re.findall(pattern, tree.text("proc/cpuinfo"), re.MULTILINE)})


def _virtual(tree: Tree, cpuinfo: dict[str, str]) -> bool:
    """True if a hypervisor is below: by x86's flag, KVM on POWER, Xen, or the firmware's names."""
    firmware = " ".join(map(tree.text, FIRMWARE))
    return bool(
        "hypervisor" in cpuinfo.get("flags", "").split()
        or "emulated by qemu" in cpuinfo.get("machine", "")
        or tree.text("sys/hypervisor/type")
        or re.search(r"QEMU|KVM|VMware|Virtual Machine|Google Compute", firmware)
    )
