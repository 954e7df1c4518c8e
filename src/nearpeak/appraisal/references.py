# SPDX-License-Identifier: Apache-2.0
"""The rates that a figure could reach on known hardware: one, or several where boards differ."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nearpeak.appraisal.figure import LARGE_BYTES, Figure
from nearpeak.appraisal.known import XGMI, Gpu, Hardware, measured_ceiling
from nearpeak.numbers import count
from nearpeak.results.results import Source
from nearpeak.terms.ratings import GOOD

FAR = 0.2  # of a NIC: less is low on any GPU
SWITCHED = 8  # GPUs of a host, from which on NVSwitch joins them
ABOVE = 1.1  # of a reference: more is another path, or a mistake
NO_RING = ("alltoall", "gather", "scatter")  # their bus bandwidth between hosts is no NIC's rate
HOW_MANY_HOSTS = "how many hosts there were"
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
    if undecided(figure, hardware):
        return list(_far_above(figure, hardware))
    candidates: list[Reference] = []
    if between_hosts(figure, hardware):
        candidates += _of_network(figure, hardware)
    if in_one_host(figure, hardware) or spans_hosts(figure, hardware):
        candidates += _inside(figure, hardware)
    candidates = list(dict.fromkeys(candidates))
    if figure.both_ways:
        both = "both ways"
        candidates = [replace(a, gbs=2 * a.gbs, label=f"{a.label}, {both}") for a in candidates]
    fitting = [one for one in candidates if figure.value <= ABOVE * one.gbs]
    return fitting or sorted(candidates, key=_gbs)[-1:]


def between_hosts(figure: Figure, hardware: Hardware) -> bool:
    """True if a figure may be one between hosts."""
    if figure.clues.tool == "perftest":
        return True
    return figure.hosts != 1 and bool((figure.hosts or 0) > 1 or hardware.nics)


def in_one_host(figure: Figure, hardware: Hardware) -> bool:
    """True if a figure may be one in one host: NICs without GPUs are named of ranks on several."""
    if figure.clues.tool == "perftest" or (figure.hosts or 1) > 1:
        return False
    return figure.hosts == 1 or not hardware.nics or hardware.gpu is not None


def spans_hosts(figure: Figure, hardware: Hardware) -> bool:
    """True if NVLink may join GPUs of several hosts."""
    gpu = hardware.gpu
    return bool(gpu and gpu.domain) and figure.on_gpus and figure.hosts != 1


def _far_above(figure: Figure, hardware: Hardware) -> Iterator[Reference]:
    """Yields the rate of one NIC where a figure is so far below it that it is low whatever else
    there is: one that each GPU has, or shares with others."""
    nics, nic = hardware.nics, measured_ceiling("nic", None, figure.clues.tool)
    many = figure.collective and not (figure.on_gpus and figure.hosts)
    rooted = figure.benchmark in ("gather", "scatter")
    if nics is None or nic is None or nic.share is None or many or rooted:
        return
    if figure.hosts == 1 or figure.message_bytes < LARGE_BYTES:
        return
    sharing = max(_ranks_of_host(figure) / nics.number, 1) if figure.benchmark == "alltoall" else 1
    ways = 2 if figure.both_ways else 1
    gbs = nics.gbs * nic.share * ways / sharing
    if figure.value < FAR * gbs:
        yield Reference(gbs, nics._replace(number=1).label, nic.source)


def undecided(figure: Figure, hardware: Hardware) -> str:
    """Names what must be known of a path, beside its GPUs and NICs; empty: nothing."""
    if _unswitched_alltoall(figure, hardware):
        return "what alltoall sustains without NVSwitch"
    nics = hardware.nics
    if figure.collective and figure.on_gpus and figure.hosts is None:
        named = hardware.named and hardware.gpu
        unknown = HOW_MANY_HOSTS if named else f"{HOW_MANY_HOSTS}: name the GPUs of one"
        return "" if spans_hosts(figure, hardware) else unknown
    many = not figure.collective and (figure.ranks or 0) > 2
    if many and not figure.on_hosts and hardware.gpu and not figure.of_time:
        return "what several pairs of GPUs sustain"
    skipped = figure.of_time or figure.clues.tool == "perftest"
    if nics is None or skipped or not between_hosts(figure, hardware):
        return ""
    if figure.collective:
        return _undecided_collective(figure, hardware)
    pairs = (figure.ranks or 0) // 2
    if nics.number == 1 or (figure.on_hosts and pairs > 1 and pairs >= nics.number):
        return ""
    if figure.on_hosts and pairs == 1:
        ways = 2 if figure.both_ways else 1
        reached = figure.value >= GOOD * ways * nics.number * nics.gbs
        return "" if reached else f"how many of the {nics.number} NICs one pair uses"
    if hardware.gpu is None and not figure.on_hosts:
        return WHICH_GPU
    return "" if figure.ranks == 2 else f"how many pairs share the {nics.number} NICs"


def _unswitched_alltoall(figure: Figure, hardware: Hardware) -> bool:
    gpu = hardware.gpu
    return figure.benchmark == "alltoall" and gpu is not None and len(gpu.pair) > 2


def _undecided_collective(figure: Figure, hardware: Hardware) -> str:
    if figure.on_hosts:
        return "what collectives in host memory sustain"
    of_blocks = figure.benchmark == "alltoall" and figure.clues.tool == "nccl-tests"
    if figure.benchmark in NO_RING and not of_blocks:
        return f"what {figure.benchmark}, no ring, sustains between hosts"
    several = hardware.nics is not None and hardware.nics.number > 1
    bounded = several or (figure.ranks or 0) > (figure.hosts or 1)
    return WHICH_GPU if hardware.gpu is None and bounded else ""


def _gbs(reference: Reference) -> float:
    return reference.gbs


def _of_network(figure: Figure, hardware: Hardware) -> Iterator[Reference]:
    """Yields the least of the NICs of a host, of PCIe of its GPUs, and of the links inside.

    perftest uses one NIC, and one GPU of a host perhaps one of several.
    """
    nic = measured_ceiling("nic", None, figure.clues.tool)
    if hardware.nics is None or nic is None or nic.share is None:
        return
    nics = hardware.nics
    if figure.clues.tool == "perftest":
        nics = nics._replace(number=1)
    one, *bounds = [
        Reference(used_nics.number * used_nics.gbs * nic.share, used_nics.label, nic.source)
        for used_nics in (nics._replace(number=1), nics)
    ]
    used = _ranks_of_host(figure)
    if hardware.gpu and not figure.on_hosts and not hardware.gpu.own_nic:
        bounds.extend(_by_pcie(hardware.gpu, used))
    if figure.benchmark == "alltoall":
        yield _of_blocks(min(bounds, key=_gbs), figure)
        return
    # What was measured of one host bounds no rings of several.
    bounded = used > 1 and hardware.link != "xgmi"
    inside = list(_inside(figure, hardware)) if bounded else []
    yield from dict.fromkeys(min(*bounds, links, key=_gbs) for links in inside)
    if not inside:
        least = min(bounds, key=_gbs)
        one_of_several = nics.number > 1 and hardware.gpu and used == 1 and one.gbs < least.gbs
        yield from [least, one] if one_of_several else [least]


def _of_blocks(host: Reference, figure: Figure) -> Reference:
    """The bus bandwidth of alltoall if a host sends at a rate: each GPU sends to those of all other
    hosts, H / (H - 1) times its part of the NICs for H hosts of several GPUs
    (https://github.com/NVIDIA/nccl-tests/issues/130)."""
    ranks, used = figure.ranks or 1, _ranks_of_host(figure)
    gbs = host.gbs / used * (ranks - 1) / (ranks - used)
    return replace(host, gbs=gbs, label=f"{host.label}, alltoall")


def _ranks_of_host(figure: Figure) -> int:
    """The ranks of one host; of messages between hosts, and where hosts are not known, one."""
    if not figure.collective:
        return 1
    return max((figure.ranks or 1) // (figure.hosts or figure.ranks or 1), 1)


def inside_gbs(figure: Figure, hardware: Hardware) -> float:
    """The most that a collective of several hosts gets inside a host; 0: not known."""
    return max((one.gbs for one in _inside(figure, hardware)), default=0.0)


def _inside(figure: Figure, hardware: Hardware) -> Iterator[Reference]:
    gpu = hardware.gpu
    if gpu is None or figure.on_hosts:
        return
    if figure.on_gpus and hardware.link == "xgmi":
        yield from _by_allreduce(figure, gpu, XGMI)
    elif figure.on_gpus and hardware.link == "nvlink" and (gpu.nvlink or _bridged(figure)):
        yield from _by_nvlink(figure, gpu, hardware)
    elif gpu.c2c and not figure.on_gpus:
        host = measured_ceiling("host", gpu)
        if host and host.gbs:
            yield Reference(host.gbs, "NVLink-C2C", host.source)
    elif not gpu.own_nic:  # else its lanes may be of the host or of its board
        yield from _by_pcie(gpu)


def _bridged(figure: Figure) -> bool:
    """True if a bridge between two cards may carry it all."""
    return (figure.ranks or 2) <= 2 and not figure.matrix and (figure.hosts or 1) == 1


def _by_allreduce(figure: Figure, gpu: Gpu, label: str) -> Iterator[Reference]:
    """Yields the rate of allreduce that was measured on such a host, or on such a domain."""
    domain = gpu.domain and figure.hosts != 1
    ranks = figure.ranks or 2 if domain or figure.hosts == 1 else _ranks_of_host(figure)
    added = measured_ceiling("allreduce", gpu, ranks=ranks)
    if figure.benchmark == "allreduce" and added and added.gbs:
        yield Reference(added.gbs, label, added.source)


def _by_nvlink(figure: Figure, gpu: Gpu, hardware: Hardware) -> Iterator[Reference]:
    nominal = gpu.nvlink or gpu.bridge or 0.0
    link = measured_ceiling("ring" if figure.collective else "copy", gpu)
    if link is None or link.share is None:
        return
    rings = nominal * link.share
    several = (figure.hosts or 1) > 1
    joined = several and not gpu.domain
    ranks = _ranks_of_host(figure) if joined else figure.ranks or 2
    added = list(_by_allreduce(figure, gpu, "NVLink SHARP"))
    if added and (several or spans_hosts(figure, hardware) or figure.value > ABOVE * rings):
        yield from added
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
