# SPDX-License-Identifier: Apache-2.0
"""The rails of a machine: the network adapters of each GPU."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from nearpeak.grouping import grouped
from nearpeak.machine.machine import Gpu, Machine, Nic
from nearpeak.machine.rates import least

EFA = "efa"  # kind of adapters that libraries use together


class Nearness(NamedTuple):
    """A rating of how near an adapter is to a GPU, by what they have in common."""

    bridges: int  # PCIe bridges
    host_bridge: bool  # a guest of a cloud often sees no other
    node: bool  # the NUMA node


NOT_NEAR = Nearness(0, host_bridge=False, node=False)


def nearness(gpu: Gpu, nic: Nic) -> Nearness:
    """Rates how near an adapter is to a GPU."""
    return Nearness(
        bridges=len(set(gpu.upstream) & set(nic.upstream)),
        host_bridge=gpu.root_bus is not None and gpu.root_bus == nic.root_bus,
        node=gpu.numa_node is not None and gpu.numa_node == nic.numa_node,
    )


def rails_of(machine: Machine, nics: Sequence[Nic] | None = None) -> dict[int, list[Nic]]:
    """The nearest adapters of each GPU, by the GPU's index: another one for each GPU where several
    are as near; of EFA all, dealt out among the GPUs. GPUs near to none are left out.

    `nics`: those to choose from; None for the fastest that move data without TCP.
    """
    choice = _fastest(without_tcp(machine)) if nics is None else nics
    # That all are below one host bridge, as in many guests, says nothing.
    host_bridges = {gpu.root_bus for gpu in machine.gpus} | {nic.root_bus for nic in choice}
    several = len(host_bridges) > 1
    near: dict[int, list[Nic]] = {}
    for gpu in machine.gpus:
        nearest = max((nearness(gpu, nic) for nic in choice), default=NOT_NEAR)
        if nearest.bridges or nearest.node or (nearest.host_bridge and several):
            near[gpu.index] = [nic for nic in choice if nearness(gpu, nic) == nearest]
    taken: Counter[str] = Counter()
    rails: dict[int, list[Nic]] = {}
    for index, alike in near.items():
        first = min(alike, key=lambda nic: taken[nic.name])
        taken[first.name] += 1
        rails[index] = [first]
    for gpus in grouped(near, lambda gpu: tuple(nic.name for nic in near[gpu])).values():
        if near[gpus[0]][0].kind == EFA:
            rails |= _dealt(gpus, near[gpus[0]])
    return rails


def _dealt(gpus: Sequence[int], nics: Sequence[Nic]) -> dict[int, list[Nic]]:
    """The adapters of each GPU, in turn; GPUs share them if they are few."""
    many = len(gpus)
    return {
        gpu: list(nics[number::many]) or [nics[number % len(nics)]]
        for number, gpu in enumerate(gpus)
    }


def joined(nics: Sequence[Nic]) -> Nic:
    """The adapters of a rail as one, whose rates are those of all together. Links that all of them
    are below count once."""
    if len(nics) == 1:
        return nics[0]
    shared = _common([nic.upstream for nic in nics])
    below = _sum(least(nic.links_gbs[shared:]) or nic.host_gbs for nic in nics)
    links = [*nics[0].links_gbs[:shared], below]
    return msgspec.structs.replace(
        nics[0],
        name=f"{nics[0].name} and {len(nics) - 1} more",
        rate_gbs=_sum(nic.rate_gbs for nic in nics),
        upstream=nics[0].upstream[:shared],
        host_gbs=least(links),
        links_gbs=links,
        verbs=None,
    )


def direct_gbs(gpu: Gpu, nic: Nic) -> float | None:
    """The theoretical rate of messages between a GPU's memory and an adapter; None where the rate
    of its link is not known. GPUDirect turns at the lowest bridge that both are below, so that
    links above that one are no bound."""
    shared = _common([gpu.upstream, nic.upstream])
    if not shared or not nic.rate_gbs:
        return least([nic.path_gbs, gpu.host_gbs]) if nic.rate_gbs else None
    return least([nic.rate_gbs, *gpu.links_gbs[shared:], *nic.links_gbs[shared:]])


def _common(chains: Sequence[Sequence[str]]) -> int:
    """The number of bridges at which all of these chains begin."""
    alike = [len({*bridges}) == 1 for bridges in zip(*chains, strict=False)]
    return [*alike, False].index(False)


def _sum(rates: Iterable[float | None]) -> float | None:
    """The sum; None where a rate is not known."""
    summands = list(rates)
    return None if None in summands else sum(filter(None, summands))


def without_tcp(machine: Machine) -> list[Nic]:
    """The adapters that are up and can move data without TCP."""
    return [nic for nic in machine.nics if nic.verbs or nic.kind == "slingshot"]


def forced_adapters(machine: Machine) -> dict[int, str]:
    """The adapter of each GPU, by the GPU's index, as UCX names it. GPUs are left out whose rail
    libraries reach without UCX, as by EFA, or that are near to no adapter."""
    return {
        index: nics[0].verbs
        for index, nics in rails_of(machine).items()
        if nics[0].verbs and nics[0].kind != EFA
    }


def _fastest(nics: Sequence[Nic]) -> list[Nic]:
    most = max((nic.rate_gbs or 0.0 for nic in nics), default=0.0)
    return [nic for nic in nics if (nic.rate_gbs or 0.0) == most]


def of_one_port(gpus: Sequence[Gpu], nics: Sequence[Nic]) -> list[list[Nic]]:
    """Interfaces that are functions of one port in several PCI domains, as those of the ConnectX-7
    of a DGX Spark: together they have its rate (ServeTheHome, Leadtek)."""
    if not any(gpu.name == "NVIDIA GB10" for gpu in gpus):
        return []
    placed = [nic for nic in nics if nic.pci and nic.verbs]
    ports = grouped(placed, lambda nic: (nic.pci or "").partition(":")[2])
    return [functions for functions in ports.values() if len(functions) > 1]


def one_port(nics: Sequence[Nic]) -> str:
    """The note on interfaces of one port."""
    rate = f" of {nics[0].rate_gbs:.3g} GB/s" if nics[0].rate_gbs else ""
    names = " and ".join(nic.name for nic in nics)
    return f"{names} are one port{rate}, on two PCIe functions."


def below_switches(machine: Machine) -> list[tuple[list[Gpu], tuple[str, ...]]]:
    """GPUs, with the names of the adapters that PCIe bridges join with them without the CPU."""
    # An interface of IP over InfiniBand comes before the port that it is of.
    devices = {nic.pci or nic.name: nic for nic in machine.nics}.values()
    near = {
        gpu.index: tuple(nic.name for nic in devices if nearness(gpu, nic).bridges)
        for gpu in machine.gpus
    }
    alike = grouped(machine.gpus, lambda gpu: near[gpu.index])
    return [(gpus, names) for names, gpus in alike.items() if names]
