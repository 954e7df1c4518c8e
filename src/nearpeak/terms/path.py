# SPDX-License-Identifier: Apache-2.0
"""The paths of a machine, between two or more memories."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from nearpeak.grouping import grouped
from nearpeak.terms.identity import HostDevice, Place
from nearpeak.terms.private import FreeText, HostName, Kept, Public

NO_DEVICE = "-"  # as in --devices


class Endpoint(msgspec.Struct, kw_only=True, frozen=True):
    """One end of a path: its memory, and the CPUs that its rank is bound to."""

    memory: Public  # `host` or `gpu`
    cpus: list[int]  # logical CPUs that the rank is bound to
    numa_node: int | None  # of the memory, or of the rank's CPUs; null: not known
    # the GPU of the memory: its `uuid`, between hosts its number for a rank, if imported its PCI
    # address or index; null: host memory
    gpu: FreeText | None = None
    # of host memory on a path to a GPU: the GPU that the rank holds, as `gpu`; `-`: none; null:
    # elsewhere, and older studies (as the other end)
    device: FreeText | None = None
    host: HostName | None = None  # null: the host of the study

    @property
    def memory_of(self) -> tuple[str | None, ...]:
        """The owner of the memory: a GPU, wherever its rank runs, or some cores."""
        if self.memory == "gpu":
            return self.host, self.gpu
        return self.host, *map(str, self.cpus)


class DataPath(msgspec.Struct, kw_only=True, frozen=True):
    """A path between memories, and its transport.

    `id` is made of words and is the same on every machine, so that studies can be compared:
    "host-host same-numa", "host-host cross-numa", "host-host tcp-loopback", "host-host two-nodes".
    docs/reference/data-paths.md lists them all.
    """

    id: Kept  # made of words, the same on every machine
    summary: FreeText  # the same for people
    transport: Public  # as of a Place
    ends: tuple[Endpoint, ...]  # one for each rank, two or more
    # payload of the link in GB/s, in one direction; null: not known
    theoretical_gbs: float | None = None
    nic: FreeText | None = None  # adapter to force, as UCX names it; null: the library's choice
    mps: bool = False  # the ranks share their GPU through a daemon of NVIDIA's MPS
    # between hosts and in a loopback, the RDMA adapter that ceilings are measured with: `mlx5_0:1`;
    # null: not known
    adapter: FreeText | None = None
    # id of the path that differs only in `mps`, in the `device` of its host's end, or in GPU
    # support of the library; empty: none
    variant_of: Kept = ""
    # names of both ends, if it is one of all pairs of its kind; else empty
    pair: tuple[FreeText, ...] = ()
    named: bool = False  # the user named it
    # no library is measured on it: its ceiling bounds paths with more ends
    ceilings_only: bool = False

    def holds(self, other: "DataPath") -> bool:
        """True if another path joins some of its ends, each once, by the same transport.

        False if some of its ranks share a host and others do not.
        """
        mine, ends = ([end.memory_of for end in path.ends] for path in (self, other))
        return (
            not (self.between_hosts and self.place.hosts < len(self.ends))
            and (other.transport, other.mps, other.between_hosts)
            == (self.transport, self.mps, self.between_hosts)
            and len(set(ends)) == len(ends)
            and set(ends) <= set(mine)
        )

    @property
    def memories(self) -> tuple[str, ...]:
        """The memory of each end."""
        return tuple(end.memory for end in self.ends)

    @property
    def numa_nodes(self) -> frozenset[int | None]:
        """The NUMA nodes of its ends."""
        return frozenset(end.numa_node for end in self.ends)

    @property
    def is_local(self) -> bool:
        """True if it is the memory of a NUMA node, which has no ranks at its ends."""
        return self.transport == "local"

    @property
    def is_loopback(self) -> bool:
        """True if it goes through an adapter and back into this host."""
        return self.adapter is not None and not self.between_hosts

    @property
    def without_mpi(self) -> bool:
        """True if only ceilings are measured on it, and no library."""
        return self.is_local or self.is_loopback

    @property
    def is_pair(self) -> bool:
        """True if it has two ends."""
        return len(self.ends) == 2

    @property
    def located(self) -> bool:
        """True if the NUMA nodes of its ends are known."""
        return None not in self.numa_nodes

    @property
    def shares_cores(self) -> bool:
        """True if several ranks run on one core of a host."""
        cores = [(end.host, *end.cpus) for end in self.ends]
        return not self.is_local and len(set(cores)) < len(cores)

    @property
    def between_hosts(self) -> bool:
        """True if its ends are on several hosts."""
        return len({end.host for end in self.ends}) > 1

    @property
    def shares_gpu(self) -> bool:
        """True if several ends are in one GPU."""
        return self.ranks_per_gpu > 1

    @property
    def ranks_per_gpu(self) -> int:
        """The most ends in one GPU; 0 without GPUs."""
        gpus = Counter((end.host, end.gpu) for end in self.ends if end.gpu)
        return max(gpus.values(), default=0)

    @property
    def host_device(self) -> HostDevice:
        """The GPU that the rank with host memory holds, on a path to a GPU."""
        devices = zip(self.ends, rank_devices(self.ends), strict=True)
        places = grouped(((end.host, device, end.gpu) for end, device in devices), lambda p: p[2])
        hosts = places.pop(None, [])
        if not hosts or not places or self.transport == "unknown":
            return ""
        if NO_DEVICE in {device for _, device, _ in hosts}:
            return "none"
        gpus = {(host, gpu) for ends in places.values() for host, _, gpu in ends}
        return "same" if gpus & {(host, device) for host, device, _ in hosts} else "own"

    @property
    def gpu_support(self) -> bool:
        """The `gpu_support` of its place."""
        return self.place.gpu_support

    @property
    def description(self) -> str:
        """The summary; for an older plan, which lacks it, with the GPU of the host's rank."""
        unsaid = any(end.gpu is None and end.device is None for end in self.ends)
        held = self.place.held
        return f"{self.summary}; {held}" if unsaid and held else self.summary

    @property
    def place(self) -> Place:
        """Its key, the same on every machine."""
        return Place(
            path=self.id,
            transport=self.transport,
            ends=self.memories,
            hosts=len({end.host for end in self.ends}) if self.located else 0,
            shared=self.shares_gpu,
            mps=self.mps,
            host_device=self.host_device,
            variant_of=self.variant_of,
            pair=self.pair,
        )


def is_named(path: str, name: str) -> bool:
    """True if the id of a path is this name, or fits this pattern: `host-gpu pair *`."""
    return path == name or fnmatchcase(path, name)


def by_place(paths: Iterable[DataPath]) -> dict[Place, DataPath]:
    """The paths by their places."""
    return {path.place: path for path in paths}


def rank_devices(ends: Sequence[Endpoint]) -> list[str]:
    """The device of each rank, as its end names it; `-` for none.

    If an older plan does not name the device of the host's rank, it is that of the other end.
    """
    lent = next((end.gpu for end in ends if end.gpu), NO_DEVICE)
    return [end.gpu or end.device or lent for end in ends]


class NoPath(msgspec.Struct, frozen=True):
    """A path that a machine lacks."""

    path: str  # its id, or words for several
    why: str
    ranks: int = 2  # that it would have

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"
