# SPDX-License-Identifier: Apache-2.0
"""The file of `nearpeak trace -o` (docs/trace.md). Sizes in bytes, times in seconds."""

from typing import Literal

import msgspec

SCHEMA = 2

Memory = Literal["host", "device"]
Peer = Literal["none", "self", "same host", "other host", "unknown"]
# They move data even where they have no size: of several types, by a topology, or with the root in
# the own one of two groups (preload/calls/counted.inc).
MOVING = frozenset(
    f"MPI_{name}"
    for name in (
        *("Alltoallw", "Neighbor_alltoallv", "Neighbor_alltoallw"),
        *("Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce"),
    )
)


class Rank(msgspec.Struct, kw_only=True):
    """One process that called MPI_Init."""

    rank: int  # in MPI_COMM_WORLD
    host: str
    process: int
    run_seconds: float  # from the end of MPI_Init to MPI_Finalize, else to the last call
    mpi_seconds: float  # of these in MPI, summed over threads
    threads: int  # that called MPI
    finalized: bool  # whether it came to MPI_Finalize
    world: int  # ranks in its MPI_COMM_WORLD
    launched: int  # ranks, as its launcher's environment says; 0: it does not
    calls: int
    bytes: int  # of all its calls
    # Of mpi_seconds those in calls that move nothing and begin nothing: MPI_Wait, MPI_Barrier, ...
    waiting_seconds: float
    lost: int = 0  # calls that were not counted: of too many threads, or on a full disk

    @property
    def own_seconds(self) -> float | None:
        """The time outside of MPI. None with several threads: their times in MPI overlap."""
        return self.run_seconds - self.mpi_seconds if self.threads == 1 else None


class Entry(msgspec.Struct, kw_only=True):
    """Calls of one operation, with messages of one class, summed over ranks."""

    operation: str  # "MPI_Send"
    made_by: str = ""  # of a persistent request that it starts: "MPI_Send_init"
    begins: bool = False  # it only begins what another call waits for: bytes over time is no rate
    size_bytes: int | None  # the smallest of its class, up to twice that; null: it has no size
    memory: Memory  # of the buffer
    peer: Peer  # where the other rank is; "none": there is no one other rank
    calls: int
    bytes: int
    seconds: float
    longest_seconds: float  # of one call

    @property
    def waits(self) -> bool:
        """True if its calls move nothing themselves, and begin nothing."""
        return self.size_bytes is None and not self.begins and self.operation not in MOVING

    @property
    def mean_seconds(self) -> float:
        """The mean time of a call."""
        return self.seconds / self.calls

    @property
    def mean_bytes(self) -> float:
        """The mean bytes of a call."""
        return self.bytes / self.calls


class Ceiling(msgspec.Struct, kw_only=True):
    """A study's ceiling for the calls of an entry between two ranks."""

    entry: int  # its place in `entries`, from 0
    path: str  # of the study
    size_bytes: int  # that was measured there, in the class of the entry
    seconds: float  # of one message of this size, without MPI
    saved_seconds: float  # of the entry's, if each of its calls took no longer


class Unblocked(msgspec.Struct, kw_only=True):
    """A study's rates for messages whose calls do not wait: for all of them together, as the
    arrival of none is known."""

    messages: int  # of `MPI_Isend` and its like, without those to nobody
    known: int  # of these, to ranks of the same host and of sizes that the study measured
    others: int  # other operations that the same calls wait for
    seconds: float  # of the calls that begin messages, wait for them and ask after them
    # In which a path carries the known ones without MPI; more than `seconds` where they went on
    # beside the application's own work.
    least_seconds: float
    saved_seconds: float  # at most


class Trace(msgspec.Struct, kw_only=True):
    """A traced run of a command."""

    schema: int
    nearpeak: str  # version
    command: list[str]
    library: str  # name and version
    started: str = ""  # ISO 8601, UTC; "" of versions that did not say it
    exit_status: int  # of the command
    expected: int  # ranks in MPI_COMM_WORLD; of several of these, in the largest
    missing: list[int]  # those of them that left no file
    wall_seconds: float  # the longest run of a rank
    ranks: list[Rank]
    entries: list[Entry]  # the one that took longest first
    ceilings: list[Ceiling] = []
    unblocked: Unblocked | None = None

    @property
    def by_entry(self) -> dict[int, Ceiling]:
        """The ceilings, by the place of their entry."""
        return {ceiling.entry: ceiling for ceiling in self.ceilings}

    @property
    def run_seconds(self) -> float:
        """The run times of all ranks together."""
        return sum(rank.run_seconds for rank in self.ranks)

    @property
    def mpi_seconds(self) -> float:
        """The times of all ranks in MPI together."""
        return sum(rank.mpi_seconds for rank in self.ranks)
