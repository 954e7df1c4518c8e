# SPDX-License-Identifier: Apache-2.0
"""AMD's GPUs, from the topology of the kernel's compute driver (KFD) and from /sys."""

import re
from itertools import combinations

from nearpeak.machine.gpus.inventory import GpuInventory
from nearpeak.machine.gpus.pci import bridges, pci_kind, pci_node, pcie_gbs
from nearpeak.machine.machine import Gpu, GpuLink, NumaNode
from nearpeak.machine.rates import bottleneck
from nearpeak.machine.tree import Tree

KFD = "sys/class/kfd/kfd/topology/nodes"
# Numbers of the kernel's kfd_crat.h.
HEAPS = (1, 2)  # public and private
LINK_XGMI = 11
ON_ONE_SOCKET = ("pcie-switch", "host-bridge")
VENDOR = 0x1002
# Accelerators by their PCI device id: the kernel knows no names.
NAMES = {
    0x738C: "AMD Instinct MI100",
    0x7408: "AMD Instinct MI250X",
    0x740C: "AMD Instinct MI250X/MI250",
    0x740F: "AMD Instinct MI210",
    0x74A0: "AMD Instinct MI300A",
    0x74A1: "AMD Instinct MI300X",
    0x74A5: "AMD Instinct MI325X",
}


def amd_gpus(tree: Tree, numa_nodes: list[NumaNode]) -> GpuInventory:
    """The GPUs that this process may use; a note counts the others."""
    nodes = {node: properties(tree, f"{KFD}/{node}/properties") for node in tree.indices(KFD, "")}
    gpus: dict[int, Gpu] = {}  # by their number in the topology
    for node, facts in nodes.items():
        if facts.get("simd_count") and facts.get("vendor_id", VENDOR) == VENDOR:
            gpus[node] = _gpu(tree, node, len(gpus), facts, numa_nodes)
    # A control group that takes a GPU away leaves its node, whose file cannot be read.
    hidden = list(nodes.values()).count({})
    note = f"{hidden} of AMD's GPUs cannot be used: hidden by a control group or container"
    return GpuInventory(
        gpus=list(gpus.values()),
        links=[_link(tree, *pair) for pair in combinations(gpus.items(), 2)],
        notes=[note] if hidden else [],
    )


def properties(tree: Tree, path: str) -> dict[str, int]:
    """The `name number` lines of a file of the topology; empty where it cannot be read."""
    pairs = re.findall(r"^\s*(\S+)\s+(\d+)\s*$", tree.text(path), re.MULTILINE)
    return {name: int(value) for name, value in pairs}


def _gpu(
    tree: Tree, node: int, index: int, facts: dict[str, int], numa_nodes: list[NumaNode]
) -> Gpu:
    pci = _address(facts)
    banks = [bank for bank in _parts(tree, node, "mem_banks") if bank.get("heap_type") in HEAPS]
    wires = next((bank for bank in banks if bank.get("width") and bank.get("mem_clk_max")), None)
    device = facts.get("device_id", 0)
    architecture = tree.text(f"{KFD}/{node}/name") or "GPU"
    links = (link for link in _links(tree, node) if link["type"] == LINK_XGMI)
    xgmi = [link for link in links if _is_cpu(tree, link["node_to"])]
    return Gpu(
        index=index,
        vendor="amd",
        name=NAMES.get(device, f"AMD {architecture} ({device:#06x})"),
        # As AMD's tools and ROCR_VISIBLE_DEVICES write it.
        uuid=f"GPU-{facts.get('unique_id', 0):016x}",
        pci=pci,
        numa_node=pci_node(tree, pci, numa_nodes),
        upstream=bridges(tree, pci)[:-1],
        memory_bytes=sum(bank.get("size_in_bytes", 0) for bank in banks) or None,
        # Two transfers a clock, on every wire.
        memory_gbs=2 * wires["mem_clk_max"] * 1e6 * wires["width"] / 8 / 1e9 if wires else None,
        host_link="xgmi" if xgmi else "pcie",
        host_gbs=_gbs(xgmi[0]) if xgmi else pcie_gbs(tree, pci),
    )


def _address(facts: dict[str, int]) -> str:
    """location_id holds bus, device and function as PCI does."""
    place = facts.get("location_id", 0)
    return f"{facts.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 31:02x}.{place & 7}"


def _is_cpu(tree: Tree, node: int) -> bool:
    return properties(tree, f"{KFD}/{node}/properties").get("cpu_cores_count", 0) > 0


def _links(tree: Tree, node: int) -> list[dict[str, int]]:
    links = [*_parts(tree, node, "io_links"), *_parts(tree, node, "p2p_links")]
    return [link for link in links if {"type", "node_to"} <= link.keys()]


def _parts(tree: Tree, node: int, kind: str) -> list[dict[str, int]]:
    folder = f"{KFD}/{node}/{kind}"
    return [
        properties(tree, f"{folder}/{number}/properties") for number in tree.indices(folder, "")
    ]


def _gbs(link: dict[str, int]) -> float | None:
    """The kernel's MB/s of all lanes, each way; 0 or absent where it does not know."""
    return link.get("max_bandwidth", 0) / 1000 or None


def _link(tree: Tree, near: tuple[int, Gpu], far: tuple[int, Gpu]) -> GpuLink:
    (node, first), (other, second) = near, far
    between = [link for link in _links(tree, node) if link["node_to"] == other]
    xgmi = next((link for link in between if link["type"] == LINK_XGMI), None)
    if xgmi:
        return GpuLink(one=first.index, other=second.index, kind="xgmi", gbs=_gbs(xgmi))
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
