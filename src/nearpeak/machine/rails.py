# SPDX-License-Identifier: Apache-2.0
"""The rails of a machine: the network adapter of each GPU."""

from collections import Counter
from collections.abc import Sequence

from nearpeak.grouping import grouped
from nearpeak.machine.machine import Gpu, Machine, Nic


def nearness(gpu: Gpu, nic: Nic) -> tuple[int, bool]:
    """Rates how near an adapter is to a GPU: by their common PCIe bridges, then by NUMA node."""
    bridges = len(set(gpu.upstream) & set(nic.upstream))
    return bridges, gpu.numa_node is not None and gpu.numa_node == nic.numa_node


def rails_of(machine: Machine, nics: Sequence[Nic] | None = None) -> dict[int, Nic]:
    """The nearest adapter of each GPU, by the GPU's index: another one for each GPU where several
    are as near. GPUs near to none are left out.

    `nics`: those to choose from; None for the fastest that move data without TCP.
    """
    choice = _fastest(without_tcp(machine)) if nics is None else nics
    taken: Counter[str] = Counter()
    rails: dict[int, Nic] = {}
    for gpu in machine.gpus:
        nearest = max((nearness(gpu, nic) for nic in choice), default=(0, False))
        if any(nearest):
            alike = [nic for nic in choice if nearness(gpu, nic) == nearest]
            rails[gpu.index] = min(alike, key=lambda nic: taken[nic.name])
            taken[rails[gpu.index].name] += 1
    return rails


def without_tcp(machine: Machine) -> list[Nic]:
    """The adapters that are up and can move data without TCP."""
    return [nic for nic in machine.nics if nic.verbs or nic.kind == "slingshot"]


def _fastest(nics: Sequence[Nic]) -> list[Nic]:
    most = max((nic.rate_gbs or 0.0 for nic in nics), default=0.0)
    return [nic for nic in nics if (nic.rate_gbs or 0.0) == most]


def below_switches(machine: Machine) -> list[tuple[list[Gpu], tuple[str, ...]]]:
    """GPUs, with the names of the adapters that PCIe bridges join with them without the CPU."""
    # An interface of IP over InfiniBand comes before the port that it is of.
    devices = {nic.pci or nic.name: nic for nic in machine.nics}.values()
    near = {
        gpu.index: tuple(nic.name for nic in devices if nearness(gpu, nic)[0])
        for gpu in machine.gpus
    }
    alike = grouped(machine.gpus, lambda gpu: near[gpu.index])
    return [(gpus, names) for names, gpus in alike.items() if names]
