# SPDX-License-Identifier: Apache-2.0
"""The rates that a figure could reach on known hardware: one, or several where boards differ."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nearpeak.appraisal.figure import Figure
from nearpeak.appraisal.known import Gpu, Hardware, measured_ceiling
from nearpeak.numbers import count
from nearpeak.results.results import Source
from nearpeak.terms.ratings import GOOD

SWITCHED = 8  # GPUs of a host, from which on NVSwitch joins them
ABOVE = 1.1  # of a reference: more is another path, or a mistake
FEWEST_ADDED = 4  # ranks whose allreduce NVSwitch may add up
NO_RING = ("alltoall", "gather", "scatter")  # their bus bandwidth between hosts is no NIC's rate
# Its PCIe and its links inside a host may be less than the NICs.
WHICH_GPU = "which GPU it was (--machine h100x8-nvlink+8x400g)"


@dataclass(frozen=True)
class Reference:
    """The rate that one path sustains."""

    gbs: float
    label: str  # the path: "NVLink, rings of NCCL"
    source: Source


def references(figure: Figure, hardware: Hardware) -> list[Reference]:
    """All that may be; none where too little is known.

    One that the figure exceeds is left out, where another fits.
    """
    if figure.of_time:
        return []
    between = between_hosts(figure, hardware)
    candidates = list((_of_network if between else _inside)(figure, hardware))
    if figure.both_ways:
        both = "both ways"
        candidates = [replace(a, gbs=2 * a.gbs, label=f"{a.label}, {both}") for a in candidates]
    fitting = [one for one in candidates if figure.value <= ABOVE * one.gbs]
    return fitting or sorted(candidates, key=_gbs)[-1:]


def between_hosts(figure: Figure, hardware: Hardware) -> bool:
    """True if a figure is taken for one between hosts."""
    if figure.clues.tool == "perftest":
        return True
    return figure.hosts != 1 and bool((figure.hosts or 0) > 1 or hardware.nics)


def undecided(figure: Figure, hardware: Hardware) -> str:
    """Names what must be known of a path, beside its GPUs and NICs; empty: nothing."""
    if _unswitched_alltoall(figure, hardware):
        return "what alltoall sustains without NVSwitch"
    nics = hardware.nics
    skipped = figure.of_time or figure.clues.tool == "perftest"
    if nics is None or skipped or not between_hosts(figure, hardware):
        return ""
    if figure.collective:
        return _undecided_collective(figure, hardware)
    if nics.number == 1:
        return ""
    if figure.on_hosts:
        ways = 2 if figure.both_ways else 1
        reached = figure.value >= GOOD * ways * nics.number * nics.gbs
        return "" if reached else f"how many of the {nics.number} NICs one pair uses"
    if hardware.gpu is None:
        return WHICH_GPU
    return "" if figure.ranks == 2 else f"how many pairs share the {nics.number} NICs"


def _unswitched_alltoall(figure: Figure, hardware: Hardware) -> bool:
    gpu = hardware.gpu
    return figure.benchmark == "alltoall" and gpu is not None and len(gpu.pair) > 2


def _undecided_collective(figure: Figure, hardware: Hardware) -> str:
    if figure.on_hosts:
        return "what collectives in host memory sustain"
    if figure.benchmark in NO_RING:
        return f"what {figure.benchmark}, no ring, sustains between hosts"
    if figure.hosts is None:
        return "how many hosts there were"
    several = hardware.nics is not None and hardware.nics.number > 1
    bounded = several or (figure.ranks or 0) > figure.hosts
    return WHICH_GPU if hardware.gpu is None and bounded else ""


def _gbs(reference: Reference) -> float:
    return reference.gbs


def _of_network(figure: Figure, hardware: Hardware) -> Iterator[Reference]:
    """Yields the least of the NICs of a host, of PCIe of its GPUs, and of the links inside.

    perftest uses one NIC, and one GPU of a host perhaps one of several.
    """
    nic = measured_ceiling("nic", None, figure.clues.tool)
    if hardware.nics is None or nic is None or nic.share is None or undecided(figure, hardware):
        return
    nics = hardware.nics
    if figure.clues.tool == "perftest":
        nics = nics._replace(number=1)
    one, *bounds = [
        Reference(used_nics.number * used_nics.gbs * nic.share, used_nics.label, nic.source)
        for used_nics in (nics._replace(number=1), nics)
    ]
    used = _ranks_of_host(figure)
    if hardware.gpu and not figure.on_hosts:
        bounds.extend(_by_pcie(hardware.gpu, used))
    inside = list(_inside(figure, hardware)) if used > 1 else []
    yield from dict.fromkeys(min(*bounds, links, key=_gbs) for links in inside)
    if not inside:
        least = min(bounds, key=_gbs)
        one_of_several = nics.number > 1 and hardware.gpu and one.gbs < least.gbs
        yield from [least, one] if one_of_several else [least]


def _ranks_of_host(figure: Figure) -> int:
    """The ranks of one host; of messages between hosts, and where hosts are not known, one."""
    if not figure.collective:
        return 1
    return max((figure.ranks or 1) // (figure.hosts or figure.ranks or 1), 1)


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
    if link is None or link.share is None or _unswitched_alltoall(figure, hardware):
        return
    rings = nominal * link.share
    several = (figure.hosts or 1) > 1
    ranks = _ranks_of_host(figure) if several else figure.ranks or 2
    added = measured_ceiling("switch", gpu)
    adds = figure.benchmark == "allreduce" and ranks >= FEWEST_ADDED
    if added and added.gbs and adds and (several or figure.value > ABOVE * rings):
        yield Reference(added.gbs, "NVLink SHARP", added.source)
        return
    for links in _links(gpu, hardware, ranks):
        label = count(links, "NVLink") if links != gpu.links else "NVLink"
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


def _by_pcie(gpu: Gpu, number: int = 1) -> Iterator[Reference]:
    """Yields the rate of the lanes of one or several GPUs together."""
    lanes = measured_ceiling("pcie", gpu)
    if lanes and lanes.share:
        label = f"PCIe {gpu.pcie}.0 x16" + (f" of {number} GPUs" if number > 1 else "")
        yield Reference(number * lanes.share * gpu.pcie_gbs, label, lanes.source)
