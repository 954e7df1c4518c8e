# SPDX-License-Identifier: Apache-2.0
"""PCI devices in /sys: their NUMA node, and the rate of their link to the CPU."""

import itertools
import re

from nearpeak.machine.machine import Gpu, NumaNode
from nearpeak.machine.rates import least
from nearpeak.machine.tree import Tree

DEVICES = "sys/bus/pci/devices"
# The share of data in a packet: the largest payload that most machines agree on is 256 bytes; a
# header of 16, a number and frame of 4 and a check of 4 go with it. PCI Express Base
# Specification, revision 3.0, 2.2.1 and 3.4 to 3.5; a write with an address of 64 bits.
PACKET = 256 / (256 + 24)
# GT/s of a lane -> GB/s of payload each way. A generation encodes its bits: 8b/10b, then 128b/130b,
# and in PCIe 6 frames of 256 bytes of which checks take 14.
LANE_GBS = {
    2.5: 2.5 / 8 * 8 / 10 * PACKET,
    5.0: 5.0 / 8 * 8 / 10 * PACKET,
    8.0: 8.0 / 8 * 128 / 130 * PACKET,
    16.0: 16.0 / 8 * 128 / 130 * PACKET,
    32.0: 32.0 / 8 * 128 / 130 * PACKET,
    64.0: 64.0 / 8 * 242 / 256 * PACKET,
}
GENERATION_GBS: dict[int | None, float] = dict(enumerate(LANE_GBS.values(), start=1))
GENERATIONS_GTS: dict[int | None, float] = dict(enumerate(LANE_GBS, start=1))


def pci_node(tree: Tree, address: str, numa_nodes: list[NumaNode]) -> int | None:
    """The NUMA node of a PCI device such as `0000:17:00.0`; None where it is not known."""
    return listed_node(tree, f"{DEVICES}/{address}/numa_node", numa_nodes)


def listed_node(tree: Tree, file: str, numa_nodes: list[NumaNode]) -> int | None:
    """The NUMA node that a device's file names; None where it is not known.

    Firmware, of virtual machines above all, often says -1: where one node has all CPUs, it is that.
    A node that the kernel does not list is offline, and as good as unknown.
    """
    node = tree.natural(file)
    if node is None:
        return only_node(numa_nodes)
    return node if node in [listed.index for listed in numa_nodes] else None


def only_node(numa_nodes: list[NumaNode]) -> int | None:
    """The NUMA node with CPUs; None where there are several."""
    with_cpus = [node.index for node in numa_nodes if node.cpus]
    return with_cpus[0] if len(with_cpus) == 1 else None


def bridges(tree: Tree, address: str) -> list[str]:
    """The PCI addresses from the root port down to the device, itself included."""
    return addresses(tree.link(f"{DEVICES}/{address}") or address)


def addresses(path: str) -> list[str]:
    """The PCI addresses in a path of /sys, in their order."""
    return re.findall(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", path)


def device_address(tree: Tree, folder: str) -> str:
    """The PCI address of the device in this folder of sys/class, or of the PCI device that has it
    (virtio, USB); empty without one."""
    device = f"{folder}/device"
    paths = [tree.link(device), *itertools.islice(tree.above(device), 1)]
    return ["", *addresses(" ".join(paths))][-1]


def root_bus(tree: Tree, address: str) -> str | None:
    """The host bridge above the device: `0000:16`."""
    match = re.search(r"/pci([0-9a-f]{4,}:[0-9a-f]{2})/", tree.link(f"{DEVICES}/{address}"))
    return match[1] if match else None


def pci_kind(tree: Tree, first: Gpu, second: Gpu) -> str:
    """The nearest way between two GPUs over PCIe, as of GpuLink.kind: by the bridges above them, or
    else by their NUMA nodes where both are known."""
    if set(first.upstream) & set(second.upstream):
        return "pcie-switch"
    if root_bus(tree, first.pci) == root_bus(tree, second.pci) is not None:
        return "host-bridge"
    if None in (first.numa_node, second.numa_node):
        return "unknown"
    return "host-bridge" if first.numa_node == second.numa_node else "cross-socket"


def pcie_gbs(tree: Tree, address: str) -> float | None:
    """GB/s each way of the narrowest link between the device and the CPU; None where unknown."""
    return least(links_gbs(tree, address))


def links_gbs(tree: Tree, address: str) -> list[float | None]:
    """GB/s each way of the links of the bridges above the device, and of its own last.

    Each end of a link is limited by the other, so that the least of both is the link.
    The speed is the most a port can do (at rest it is lower), the width what was agreed.
    """
    return [_port_gbs(tree, port) for port in bridges(tree, address)]


def link_gbs(generation: int | None, width: int | None) -> float | None:
    """GB/s each way of a link of that many lanes; None where either is unknown."""
    lane = GENERATION_GBS.get(generation)
    return lane * width if lane and width else None


def _port_gbs(tree: Tree, address: str) -> float | None:
    folder = f"{DEVICES}/{address}"
    speed = re.match(r"\d+(\.\d+)?", tree.text(f"{folder}/max_link_speed"))
    width = tree.natural(f"{folder}/current_link_width") or 0
    # A virtual machine has neither, and a device that is none of PCIe's.
    lane = LANE_GBS.get(float(speed[0])) if speed else None
    return lane * width if lane and 0 < width <= 32 else None
