# SPDX-License-Identifier: Apache-2.0
"""The GPUs of a machine, of every vendor that Nearpeak knows: one file each in this folder."""

from nearpeak.machine.gpus.amd import amd_gpus
from nearpeak.machine.gpus.inventory import GpuInventory
from nearpeak.machine.gpus.nvidia import nvidia_gpus
from nearpeak.machine.machine import NumaNode
from nearpeak.machine.tree import Tree

VENDORS = (nvidia_gpus, amd_gpus)


def discover_gpus(tree: Tree, numa_nodes: list[NumaNode]) -> GpuInventory:
    """The GPUs that this process may use, their links, and a line for what it may not use."""
    inventories = [vendor(tree, numa_nodes) for vendor in VENDORS]
    notes = [note for inventory in inventories for note in inventory.notes]
    used, *others = [inventory for inventory in inventories if inventory.gpus] or [GpuInventory()]
    notes += [
        f"{len(inventory.gpus)} GPUs ({inventory.gpus[0].name}) are left out: no path joins"
        f" them with the GPUs of another vendor ({used.gpus[0].name})"
        for inventory in others
    ]
    return GpuInventory(gpus=used.gpus, links=used.links, notes=notes, mps=used.mps)
