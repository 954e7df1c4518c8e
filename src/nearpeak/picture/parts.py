# SPDX-License-Identifier: Apache-2.0
"""The parts of a machine that stand together in a drawing, and the links that are drawn as one."""

from dataclasses import dataclass, field, replace
from math import floor

from nearpeak.grouping import grouped
from nearpeak.machine.machine import Gpu, GpuLink, Machine, Nic, NumaNode
from nearpeak.picture.measured import Measured
from nearpeak.picture.packages import drawn_as, of_packages
from nearpeak.picture.shapes import glued
from nearpeak.terms.path import DataPath

LINKS = {  # the names of links, as people write them
    "pcie": "PCIe",
    "nvlink": "NVLink",
    "nvlink-c2c": "NVLink-C2C",
    "xgmi": "xGMI",
    "pcie-switch": "PCIe switch",
    "package": "in one package",
}
OWN_LINES = ("nvlink", "xgmi", "pcie-switch")  # other ways between GPUs are through the host
LEAST_CLIQUE = 3  # GPUs, all joined to each other alike, that are drawn as one fabric

NO_PACKAGE = -1  # of NUMA nodes whose package is unknown
UNPLACED = "unplaced"  # the frame of GPUs and adapters whose node is unknown

Spot = tuple[str, int, int]  # what kind of part or link, and which


Span = tuple[float, float]  # the left edge and the width that a socket has for all its parts


@dataclass
class Socket:
    """One package with its memory, and its GPUs and adapters.

    Without packages: NUMA nodes of unknown packages. Without nodes, too: GPUs and adapters whose
    node is unknown.
    """

    packages: list[int]
    nodes: list[NumaNode]
    cores: int
    gpus: list[Gpu] = field(default_factory=list)
    nics: list[Nic] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The number of its first package, by which `spot` names it."""
        return self.packages[0] if self.packages else NO_PACKAGE

    @property
    def frame(self) -> str:
        """The name of its box."""
        return f"socket {self.number}" if self.nodes else UNPLACED

    @property
    def memory_bytes(self) -> int:
        """The memory of all its NUMA nodes together."""
        return sum(node.memory_bytes or 0 for node in self.nodes)


@dataclass(frozen=True)
class Fabric:
    """GPUs that are joined alike: all to each other, or one pair."""

    kind: str
    gbs: float | None  # theoretical, each way, between any two of them
    gpus: tuple[int, ...]

    @property
    def label(self) -> str:
        """`NVLink 450 GB/s`."""
        return rated(self.kind, self.gbs)


def rated(kind: str, gbs: float | None) -> str:
    """A kind of link with its theoretical rate, where that is known."""
    name = LINKS.get(kind, kind)
    return name if gbs is None else f"{name} {glued(f'{gbs:.3g} GB/s')}"


def memory_words(machine: Machine, size_bytes: int | None) -> str:
    """The size of host memory; empty for a virtual machine, which gets memory as it needs it."""
    return gib(size_bytes) if size_bytes and not machine.virtual else ""


def gib(size_bytes: int) -> str:
    """Memory in whole GiB, in tenths below 4 GiB and of TiB: that hides what the kernel keeps.

    Empty for none.
    """
    gibibytes = size_bytes / (1 << 30)
    if gibibytes >= 1024:
        return glued(f"{gibibytes / 1024:.1f} TiB")
    places = 0 if gibibytes >= 4 else 1
    return glued(f"{gibibytes:.{places}f} GiB") if size_bytes else ""


def columns_of(width: float, least: float, gap: float) -> int:
    """The number of boxes of a least width that fit side by side; one at least."""
    return max(1, floor((width + gap) / (least + gap) + 1e-6))


def sockets(machine: Machine) -> list[Socket]:
    """The packages in order, each with its nodes; memory without cores goes to the nearest one.

    GPUs and adapters whose node is not known come last, by themselves.
    """
    home = _homes(machine)
    nodes = [
        node
        for node in machine.numa_nodes
        if node.memory != "gpu" and (node.cpus or node.memory_bytes)
    ]
    by_package = grouped(nodes, lambda node: home.get(_nearest(node, home), NO_PACKAGE))
    if not nodes:
        return []
    with_nodes = [_socket(machine, *package) for package in sorted(by_package.items())]
    placed = {node.index for node in nodes}
    gpus = [gpu for gpu in machine.gpus if gpu.numa_node not in placed]
    nics = [nic for nic in _adapters(machine) if nic.numa_node not in placed]
    unplaced = Socket([], [], 0, gpus, nics)
    return [*with_nodes, unplaced] if gpus or nics else with_nodes


def _socket(machine: Machine, package: int, nodes: list[NumaNode]) -> Socket:
    order: dict[int | None, int] = {node.index: number for number, node in enumerate(nodes)}
    cores = [core for core in machine.cores if core.numa_node in order]
    packages = {package, *(NO_PACKAGE if core.package is None else core.package for core in cores)}
    gpus = [gpu for gpu in machine.gpus if gpu.numa_node in order]
    return Socket(
        packages=sorted(packages - {NO_PACKAGE}),
        nodes=nodes,
        cores=len(cores),
        gpus=sorted(gpus, key=lambda gpu: (order[gpu.numa_node], gpu.index)),
        nics=sorted(
            (nic for nic in _adapters(machine) if nic.numa_node in order),
            key=lambda nic: order[nic.numa_node],
        ),
    )


def _adapters(machine: Machine) -> list[Nic]:
    return [nic for nic in machine.nics if nic.kind != "virtual"]


def _homes(machine: Machine) -> dict[int, int]:
    """The package of each NUMA node with cores: the first, where it spans several."""
    return {
        core.numa_node: NO_PACKAGE if core.package is None else core.package
        for core in reversed(machine.cores)
        if core.numa_node is not None
    }


def _nearest(node: NumaNode, home: dict[int, int]) -> int:
    if node.index in home or not home:
        return node.index
    return min(home, key=lambda other: (node.distances.get(other, 255), other))


def fabrics(machine: Machine) -> list[Fabric]:
    """The direct links of GPUs: cliques of three or more as one, else pair by pair."""
    direct = [
        link
        for link in machine.gpu_links
        if link.kind in OWN_LINES and not _indirect(machine, link)
    ]
    alike = grouped(direct, lambda link: (link.kind, link.gbs))
    return [
        Fabric(kind, gbs, gpus)
        for (kind, gbs), links in alike.items()
        for together in _components(links)
        for gpus in _drawn_as_one(together, links)
    ]


def _drawn_as_one(gpus: set[int], links: list[GpuLink]) -> list[tuple[int, ...]]:
    """All of these GPUs that are joined somehow, if each has a link to each; else the pairs."""
    pairs = [(link.one, link.other) for link in links if link.one in gpus]
    complete = len(pairs) == len(gpus) * (len(gpus) - 1) // 2
    return [tuple(sorted(gpus))] if complete and len(gpus) >= LEAST_CLIQUE else [*pairs]


def _indirect(machine: Machine, link: GpuLink) -> bool:
    """True if two GPUs are joined only through others: xGMI gives no rate there."""
    if link.hops is not None:
        return link.hops > 1
    return link.gbs is None and any(
        other.kind == link.kind and other.gbs is not None for other in machine.gpu_links
    )


def indirect(machine: Machine) -> bool:
    """True if some GPUs are joined only through others."""
    return any(link.kind == "xgmi" and _indirect(machine, link) for link in machine.gpu_links)


def _components(links: list[GpuLink]) -> list[set[int]]:
    parts: list[set[int]] = []
    for link in links:
        touching = [part for part in parts if part & {link.one, link.other}]
        merged = set().union({link.one, link.other}, *touching)
        parts = [part for part in parts if part not in touching] + [merged]
    return parts


def spot(machine: Machine, path: DataPath) -> Spot:
    """The part or link of the machine that a path measures; ValueError if its ends are unknown.

    "remote"; "memory" and "node" with the node; "gpu" and "host link" with the GPU; "link" with
    both GPUs; "inside" with the socket's package; "sockets".
    """
    if path.between_hosts:
        return "remote", 0, 0
    first, last = path.ends[0].numa_node, path.ends[-1].numa_node
    if first is None or last is None:
        raise ValueError(f"{path.id}: it is not known where its ends are")
    if path.is_local:
        return "memory", last, 0
    drawn = drawn_as(machine)
    indices = {gpu.uuid: drawn[gpu.index] for gpu in machine.gpus}
    gpus = sorted({indices[end.gpu] for end in path.ends if end.gpu in indices})
    if len(gpus) == 1 and all(end.gpu for end in path.ends):
        return "gpu", gpus[0], 0
    links = fabrics(of_packages(machine))
    if len(gpus) == 2 and any(set(gpus) <= set(fabric.gpus) for fabric in links):
        return "link", gpus[0], gpus[1]
    if first == last:
        return ("host link", gpus[0], 0) if gpus else ("node", first, 0)
    package = _homes(machine)
    if package.get(first) != package.get(last):
        return "sockets", 0, 0
    return "inside", package.get(first, 0), 0


def by_spot(machine: Machine, rows: list[Measured]) -> dict[Spot, list[Measured]]:
    """The measured rows by the spot where they are drawn; both directions of a path are one."""
    ways = grouped(rows, lambda row: row.path.id)
    both = [replace(first, back=next(iter(rest), None)) for first, *rest in ways.values()]
    return grouped(both, lambda row: spot(machine, row.path))
