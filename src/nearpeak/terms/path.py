# SPDX-License-Identifier: Apache-2.0
"""Between which memories data moves: the paths of a machine."""

from collections import Counter

import msgspec

from nearpeak.terms.identity import Place


class Endpoint(msgspec.Struct, kw_only=True, frozen=True):
    """One end of a path: the memory, and the logical CPUs and NUMA node its rank is bound to."""

    memory: str  # "host" or "gpu"
    cpus: list[int]
    numa_node: int | None  # None: it is not known where it is
    # The GPU whose memory it is, or which the rank takes: its uuid; its index where `host` is set,
    # for the other host's uuids are not known; of what was imported its PCI address, or its index.
    gpu: str | None = None
    host: str | None = None  # None: this host

    @property
    def memory_of(self) -> tuple[str | None, ...]:
        """Whose memory it is: that of a GPU, whatever its rank runs on, or near some cores."""
        if self.memory == "gpu":
            return self.host, self.gpu
        return self.host, *map(str, self.cpus)


class DataPath(msgspec.Struct, kw_only=True, frozen=True):
    """Between which two memories data moves, and how.

    `id` is made of words and is the same on every machine, so that studies can be compared:
    "host-host same-numa", "host-host cross-numa", "host-host tcp-loopback",
    "host-host two-nodes". docs/machine.md lists them all.
    """

    id: str
    summary: str
    transport: str  # as of Place
    ends: tuple[Endpoint, ...]  # one for each rank, two or more
    theoretical_gbs: float | None = None  # unidirectional GB/s of the link, where one is known
    nic: str | None = None  # the adapter to force, as UCX names it; null: the library's choice
    mps: bool = False  # the ranks share their GPU through a daemon of NVIDIA's MPS
    # Between hosts: the RDMA adapter on the way ("mlx5_0:1"), which ceilings are measured with.
    adapter: str | None = None
    variant_of: str = ""  # the id of the path that differs from it in `mps` alone
    pair: tuple[str, ...] = ()  # the names of both ends, where it is one of all pairs of its kind
    named: bool = False  # by whoever asked for the study
    # No library is measured on it: what it carries bounds what one of more ends can do.
    ceilings_only: bool = False

    def holds(self, other: "DataPath") -> bool:
        """Whether another path is between some of its ends, each of them once, in the same way: not
        where some of its ranks share a host and others do not."""
        mine, ends = ([end.memory_of for end in path.ends] for path in (self, other))
        return (
            not (self.between_hosts and self.place.hosts < len(self.ends))
            and (other.transport, other.mps, other.between_hosts)
            == (self.transport, self.mps, self.between_hosts)
            and len(set(ends)) == len(ends)
            and set(ends) <= set(mine)
        )

    @property
    def located(self) -> bool:
        """Whether it is known where its ends are."""
        return all(end.numa_node is not None for end in self.ends)

    @property
    def shares_cores(self) -> bool:
        """Whether several ranks run on one core of a host."""
        cores = [(end.host, *end.cpus) for end in self.ends]
        return self.transport != "local" and len(set(cores)) < len(cores)

    @property
    def between_hosts(self) -> bool:
        """Whether its ends are on several hosts."""
        return len({end.host for end in self.ends}) > 1

    @property
    def shares_gpu(self) -> bool:
        """Whether several ends are in one GPU, or take the same one."""
        return self.ranks_per_gpu > 1

    @property
    def ranks_per_gpu(self) -> int:
        """The most ends that are in one GPU, or take the same one; 0: none does."""
        gpus = Counter((end.host, end.gpu) for end in self.ends if end.gpu)
        return max(gpus.values(), default=0)

    @property
    def place(self) -> Place:
        """What it is, in words that are the same on every machine."""
        return Place(
            path=self.id,
            transport=self.transport,
            ends=tuple(end.memory for end in self.ends),
            hosts=len({end.host for end in self.ends}) if self.located else 0,
            shared=self.shares_gpu,
            mps=self.mps,
            variant_of=self.variant_of,
            pair=self.pair,
        )


class NoPath(msgspec.Struct, frozen=True):
    """A path that a machine lacks."""

    path: str  # its id, or words for several
    why: str
    ranks: int = 2  # that it would have

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"
