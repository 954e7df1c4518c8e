# SPDX-License-Identifier: Apache-2.0
"""AMD's GPUs, from the topology of the kernel's compute driver (KFD) and from /sys."""

import re
from collections import Counter
from itertools import combinations
from typing import NamedTuple

import msgspec

from nearpeak.machine.gpus.inventory import GpuInventory
from nearpeak.machine.gpus.pci import bridges, links_gbs, pci_kind, pci_node, pcie_gbs, root_bus
from nearpeak.machine.machine import Gpu, GpuLink, NumaNode
from nearpeak.machine.rates import bottleneck
from nearpeak.machine.tree import Tree

KFD = "sys/class/kfd/kfd/topology/nodes"
# Numbers of the kernel's kfd_crat.h.
HEAPS = (1, 2)  # public and private
LINK_XGMI = 11
# Of a link inside a package (KFD_CRAT_INTRA_SOCKET_WEIGHT in kfd_crat.c): the kernel says 819200
# MB/s of every such link, which is no rate of the hardware.
WEIGHT_IN_PACKAGE = 13
WEIGHT_OF_HOP = 15  # KFD_CRAT_XGMI_WEIGHT, of each link of xGMI on the way
# GB/s each way of a link between two GPUs: of MI300X by AMD's page on RCCL and xGMI
# (rocm.blogs.amd.com/software-tools-optimization/mi300x-rccl-xgmi), of the others by its data
# sheets. Older drivers take 25 GT/s, which makes 50, for the links of every model.
LINK_GBS = {
    "AMD Instinct MI300X": 64.0,
    "AMD Instinct MI300X HF": 64.0,
    "AMD Instinct MI300X VF": 64.0,
    "AMD Instinct MI325X": 64.0,
    "AMD Instinct MI350X": 76.8,
    "AMD Instinct MI350X VF": 76.8,
    "AMD Instinct MI355X": 76.8,
    "AMD Instinct MI355X VF": 76.8,
}
ON_ONE_SOCKET = ("pcie-switch", "host-bridge")
VENDOR = 0x1002
# Accelerators by their PCI device id, of which the kernel has no names: libdrm, data/amdgpu.ids.
NAMES = {
    0x738C: "AMD Instinct MI100",
    0x7408: "AMD Instinct MI250X",
    0x740C: "AMD Instinct MI250X/MI250",
    0x740F: "AMD Instinct MI210",
    0x74A0: "AMD Instinct MI300A",
    0x74A1: "AMD Instinct MI300X",
    0x74A2: "AMD Instinct MI308X",
    0x74A5: "AMD Instinct MI325X",
    0x74A8: "AMD Instinct MI308X HF",
    0x74A9: "AMD Instinct MI300X HF",
    0x74B5: "AMD Instinct MI300X VF",
    0x74B6: "AMD Instinct MI308X",
    0x74BD: "AMD Instinct MI300X HF",
    0x75A0: "AMD Instinct MI350X",
    0x75A3: "AMD Instinct MI355X",
    0x75B0: "AMD Instinct MI350X VF",
    0x75B3: "AMD Instinct MI355X VF",
}
# Transfers of a wire in a cycle of the memory clock that the kernel says, where these are not two:
# by the version of the instruction set without its last two digits. HBM3 of the MI300 series makes
# 5.2 GT/s at 1300 MHz (8192 wires: 5.3 TB/s in AMD's data sheet). Of the MI350 series the clock was
# never seen: its rate is not known.
TRANSFERS = {904: 4, 905: None}


class Node(NamedTuple):
    """A GPU of the topology: of those in a partitioned package, each is one."""

    number: int  # in the topology
    gpu: Gpu
    links: dict[int, dict[str, int]]  # by the node at their other end; xGMI's before others


def amd_gpus(tree: Tree, numa_nodes: list[NumaNode]) -> GpuInventory:
    """The GPUs that this process may use; a note counts the others."""
    nodes = {node: properties(tree, f"{KFD}/{node}/properties") for node in tree.indices(KFD, "")}
    cpus = {node for node, facts in nodes.items() if facts.get("cpu_cores_count")}
    accelerators = {
        node: facts
        for node, facts in nodes.items()
        if facts.get("simd_count") and facts.get("vendor_id", VENDOR) == VENDOR
    }
    packages = Counter(_package(facts) for facts in accelerators.values())
    uuids = _uuids([facts.get("unique_id", 0) for facts in accelerators.values()])
    inventory: list[Node] = []
    for (node, facts), uuid in zip(accelerators.items(), uuids, strict=True):
        links = _links(tree, node)
        gpu = _gpu(tree, node, len(inventory), facts, uuid, numa_nodes)
        if packages[_package(facts)] > 1:
            gpu = _as_partition(gpu, facts)
        inventory.append(Node(node, _with_host_link(tree, gpu, links, cpus), links))
    # A control group that takes a GPU away leaves its node, whose file cannot be read.
    hidden = list(nodes.values()).count({})
    note = f"{hidden} of AMD's GPUs cannot be used: hidden by a control group or container"
    return GpuInventory(
        gpus=[node.gpu for node in inventory],
        links=[_link(tree, *pair) for pair in combinations(inventory, 2)],
        notes=[note] if hidden else [],
    )


def properties(tree: Tree, path: str) -> dict[str, int]:
    """The `name number` lines of a file of the topology; empty where it cannot be read."""
    pairs = re.findall(r"^\s*(\S+)\s+(\d+)\s*$", tree.text(path), re.MULTILINE)
    return {name: int(value) for name, value in pairs}


def _uuids(unique: list[int]) -> list[str]:
    """The UUIDs of GPUs, as AMD's tools and ROCR_VISIBLE_DEVICES write them.

    Older kernels give all partitions of a package one: then each has its number behind it, as
    in bench/accel/gpu/gpu.cpp.
    """
    alike, seen = Counter(unique), Counter[int]()
    uuids = []
    for number in unique:
        behind = f".{seen[number]}" if alike[number] > 1 else ""
        uuids.append(f"GPU-{number:016x}{behind}")
        seen[number] += 1
    return uuids


def _gpu(
    tree: Tree,
    node: int,
    index: int,
    facts: dict[str, int],
    uuid: str,
    numa_nodes: list[NumaNode],
) -> Gpu:
    """The GPU without its link to the host."""
    pci = _address(facts)
    banks = [bank for bank in _parts(tree, node, "mem_banks") if bank.get("heap_type") in HEAPS]
    device = facts.get("device_id", 0)
    architecture = tree.text(f"{KFD}/{node}/name") or "GPU"
    return Gpu(
        index=index,
        vendor="amd",
        name=NAMES.get(device, f"AMD {architecture} ({device:#06x})"),
        uuid=uuid,
        pci=pci,
        numa_node=pci_node(tree, pci, numa_nodes),
        upstream=bridges(tree, pci)[:-1],
        root_bus=root_bus(tree, pci),
        links_gbs=links_gbs(tree, pci),
        memory_bytes=sum(bank.get("size_in_bytes", 0) for bank in banks) or None,
        memory_gbs=_memory_gbs(banks, facts.get("gfx_target_version", 0)),
        host_link="pcie",
        host_gbs=None,
    )


def _memory_gbs(banks: list[dict[str, int]], target: int) -> float | None:
    transfers = TRANSFERS.get(target // 100, 2)
    wires = next((bank for bank in banks if bank.get("width") and bank.get("mem_clk_max")), None)
    if wires is None or transfers is None:
        return None
    return transfers * wires["mem_clk_max"] * 1e6 * wires["width"] / 8 / 1e9


def _as_partition(gpu: Gpu, facts: dict[str, int]) -> Gpu:
    """The GPU as a partition of its package. All of them reach all memory of the package, or a
    part of it: the rate of each is not known."""
    location = facts.get("location_id", 0)
    number = location & 7 or location >> 28
    return msgspec.structs.replace(gpu, partition=number, memory_gbs=None)


def _with_host_link(tree: Tree, gpu: Gpu, links: dict[int, dict[str, int]], cpus: set[int]) -> Gpu:
    wired = [link for node, link in links.items() if node in cpus and link["type"] == LINK_XGMI]
    if not wired:
        return msgspec.structs.replace(gpu, host_gbs=pcie_gbs(tree, gpu.pci))
    if _in_package(wired[0]):
        return msgspec.structs.replace(gpu, host_link="package")
    return msgspec.structs.replace(gpu, host_link="xgmi", host_gbs=_gbs(wired[0]))


def _package(facts: dict[str, int]) -> tuple[int, int]:
    """The PCI device of the package: the kernel adds the number of a partition as a function,
    which no device of /sys has, or in bits 31 to 28 (changelog of AMD SMI)."""
    return facts.get("domain", 0), (facts.get("location_id", 0) & 0xFFFF) >> 3


def _address(facts: dict[str, int]) -> str:
    """The PCI address of the package: location_id holds bus, device and function as PCI does."""
    domain, device = _package(facts)
    return f"{domain:04x}:{device >> 5 & 0xFF:02x}:{device & 31:02x}.0"


def _links(tree: Tree, node: int) -> dict[int, dict[str, int]]:
    links = [*_parts(tree, node, "io_links"), *_parts(tree, node, "p2p_links")]
    listed = [link for link in links if {"type", "node_to"} <= link.keys()]
    by_node: dict[int, dict[str, int]] = {}
    for link in sorted(listed, key=lambda link: link["type"] != LINK_XGMI):
        by_node.setdefault(link["node_to"], link)
    return by_node


def _parts(tree: Tree, node: int, kind: str) -> list[dict[str, int]]:
    folder = f"{KFD}/{node}/{kind}"
    return [
        properties(tree, f"{folder}/{number}/properties") for number in tree.indices(folder, "")
    ]


def _in_package(link: dict[str, int]) -> bool:
    return link.get("weight") == WEIGHT_IN_PACKAGE


def _hops(link: dict[str, int]) -> int | None:
    """The links on the way; None where the kernel does not know, as of partitions."""
    hops, rest = divmod(link.get("weight", 0), WEIGHT_OF_HOP)
    return hops if hops and not rest else None


def _gbs(link: dict[str, int]) -> float | None:
    """The kernel's MB/s of all lanes, each way; 0 or absent where it does not know."""
    return link.get("max_bandwidth", 0) / 1000 or None


def _link(tree: Tree, near: Node, far: Node) -> GpuLink:
    first, second = near.gpu, far.gpu
    between = near.links.get(far.number)
    if first.pci == second.pci:
        return GpuLink(one=first.index, other=second.index, kind="package", gbs=None)
    if between and between["type"] == LINK_XGMI:
        hops, said = _hops(between), _gbs(between)
        model = LINK_GBS.get(first.name) if said and hops == 1 else None
        low = said is not None and model is not None and said < model
        return GpuLink(
            one=first.index,
            other=second.index,
            kind="xgmi",
            gbs=model if low else said,
            hops=hops,
            driver_gbs=said if low else None,
        )
    kind = pci_kind(tree, first, second)
    gbs = bottleneck([first.host_gbs, second.host_gbs])
    return GpuLink(
        one=first.index,
        other=second.index,
        kind=kind,
        gbs=gbs if kind in ON_ONE_SOCKET else None,
        # The kernel lists a link between any two that may reach each other.
        peer=None if between else "the kernel lists no link between them",
    )
