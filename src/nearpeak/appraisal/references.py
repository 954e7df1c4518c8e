# SPDX-License-Identifier: Apache-2.0
"""The rates that a figure could reach on known hardware: one, or several where boards differ."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nearpeak.appraisal.figure import Figure
from nearpeak.appraisal.known import Gpu, Hardware, measured_ceiling
from nearpeak.results.results import Source

SWITCHED = 8  # GPUs of a host, from which on NVSwitch joins them
ABOVE_RINGS = 1.1  # of their rate: no ring reaches it
FEWEST_ADDED = 4  # ranks whose allreduce NVSwitch may add up


@dataclass(frozen=True)
class Reference:
    """The rate that one path sustains."""

    gbs: float
    label: str  # the path: "NVLink, rings of NCCL"
    source: Source


def references(figure: Figure, hardware: Hardware) -> list[Reference]:
    """All that may be; none where too little is known."""
    if figure.of_time:
        return []
    between = _between_hosts(figure, hardware)
    candidates = list((_of_network if between else _inside)(figure, hardware))
    if not figure.both_ways:
        return candidates
    return [replace(one, gbs=2 * one.gbs, label=f"{one.label}, both ways") for one in candidates]


def _between_hosts(figure: Figure, hardware: Hardware) -> bool:
    if figure.clues.tool == "perftest":
        return True
    return figure.hosts != 1 and bool((figure.hosts or 0) > 1 or hardware.nics)


def _of_network(figure: Figure, hardware: Hardware) -> Iterator[Reference]:
    """Yields the rate of all NICs of a host together; perftest uses one."""
    nic = measured_ceiling("nic", None)
    if hardware.nics is None or nic is None or nic.share is None:
        return
    nics = hardware.nics
    if figure.clues.tool == "perftest":
        nics = nics._replace(number=1)
    yield Reference(nics.number * nics.gbs * nic.share, nics.label, nic.source)


def _inside(figure: Figure, hardware: Hardware) -> Iterator[Reference]:
    gpu = hardware.gpu
    if gpu is None or figure.on_hosts:
        return
    if figure.on_gpus and hardware.link == "nvlink" and gpu.nvlink:
        yield from _by_nvlink(figure, gpu, hardware)
    else:
        yield from _by_pcie(gpu)


def _by_nvlink(figure: Figure, gpu: Gpu, hardware: Hardware) -> Iterator[Reference]:
    nominal = gpu.nvlink or 0.0
    link = measured_ceiling("ring" if figure.collective else "copy", gpu)
    if link is None or link.share is None:
        return
    ranks, rings = figure.ranks or 2, nominal * link.share
    added = measured_ceiling("switch", gpu)
    adds = figure.benchmark == "allreduce" and ranks >= FEWEST_ADDED
    if added and added.gbs and adds and figure.value > ABOVE_RINGS * rings:
        yield Reference(added.gbs, "NVLink SHARP", added.source)
        return
    for links in _links(gpu, hardware, ranks):
        label = f"{links} NVLinks" if links != gpu.links else "NVLink"
        label += ", rings of NCCL" if figure.collective else ""
        yield Reference(nominal * links / gpu.links * link.share, label, link.source)


def _links(gpu: Gpu, hardware: Hardware, ranks: int) -> tuple[int, ...]:
    """The numbers of links that a GPU may use: between two of them all, where NVSwitch joins eight
    of a model that others join in fours or in twos directly; of rings, on the oldest, perhaps half.
    """
    if ranks > 2:
        return (gpu.links,) if len(gpu.pair) <= 2 else gpu.pair[:2]
    if hardware.lanes:
        return (hardware.lanes,)
    switched = (hardware.count or 0) >= SWITCHED and len(gpu.pair) == 2
    return (gpu.links,) if switched else gpu.pair


def _by_pcie(gpu: Gpu) -> Iterator[Reference]:
    lanes = measured_ceiling("pcie", gpu)
    if lanes and lanes.share:
        yield Reference(lanes.share * gpu.pcie_gbs, f"PCIe {gpu.pcie}.0 x16", lanes.source)
