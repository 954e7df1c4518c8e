# SPDX-License-Identifier: Apache-2.0
"""The GPUs of a machine, of every vendor that Nearpeak knows: one file each in this folder."""

from nearpeak.machine.gpus.amd import amd_gpus
from nearpeak.machine.gpus.found import Found
from nearpeak.machine.gpus.nvidia import nvidia_gpus
from nearpeak.machine.machine import NumaNode
from nearpeak.machine.tree import Tree

VENDORS = (nvidia_gpus, amd_gpus)


def discover_gpus(tree: Tree, numa_nodes: list[NumaNode]) -> Found:
    """The GPUs that this process may use, their links, and a line for what it may not use."""
    each = [vendor(tree, numa_nodes) for vendor in VENDORS]
    notes = [note for found in each for note in found.notes]
    used = next((found for found in each if found.gpus), Found())
    for found in each:
        if found.gpus and found is not used:
            notes.append(
                f"{len(found.gpus)} GPUs ({found.gpus[0].name}) are left out: no path joins them "
                f"with the GPUs of another vendor ({used.gpus[0].name})"
            )
    return Found(gpus=used.gpus, links=used.links, notes=notes, mps=used.mps)
