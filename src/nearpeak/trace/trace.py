# SPDX-License-Identifier: Apache-2.0
"""The file of `nearpeak trace -o` (docs/how-to/trace.md). Sizes in bytes, times in seconds."""

from typing import Literal

import msgspec

from nearpeak.terms.private import FreeText, HostName, Kept, Public, Release

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

    rank: int  # in `MPI_COMM_WORLD`
    host: HostName  # its name
    process: int  # its process number on that host
    # from the end of `MPI_Init` to `MPI_Finalize`, else to the last call; of sessions, without the
    # time between them
    run_seconds: float
    mpi_seconds: float  # of these in MPI, summed over threads
    threads: int  # number of threads that called MPI
    finalized: bool  # it reached `MPI_Finalize`
    world: int  # number of ranks in its `MPI_COMM_WORLD`
    launched: int  # number of ranks by its launcher's environment; 0: not known
    calls: int  # number of its calls
    bytes: int  # of all its calls
    # of `mpi_seconds` in calls that move nothing and begin nothing: `MPI_Wait`, `MPI_Barrier`, ...
    waiting_seconds: float
    lost: int = 0  # calls that were not counted: of too many threads, or on a full disk

    @property
    def own_seconds(self) -> float | None:
        """The time outside of MPI. None with several threads: their times in MPI overlap."""
        return self.run_seconds - self.mpi_seconds if self.threads == 1 else None


class Entry(msgspec.Struct, kw_only=True):
    """Calls of one operation, with messages of one class, summed over ranks."""

    operation: Public  # `MPI_Send`; functions with large counts (`MPI_Send_c`) count as the others
    # of a start of persistent requests, the call that made them: `MPI_Send_init`; else empty
    made_by: Public = ""
    begins: bool = False  # it only begins what another call waits for: bytes over time is no rate
    # the smallest of its class, which ends below twice that; null: it has no size
    size_bytes: int | None
    memory: Memory  # of the buffer
    peer: Peer  # where the other rank is; `none`: there is no one other rank
    calls: int  # number of calls
    bytes: int  # of all calls
    seconds: float  # of all calls
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

    entry: int  # its number in `entries`, from 0
    path: Kept  # of the study
    size_bytes: int  # the size that was measured there, in the class of the entry
    seconds: float  # of one message of this size, without MPI
    saved_seconds: float  # what the calls of the entry took beyond that


class Unblocked(msgspec.Struct, kw_only=True):
    """A study's rates for messages whose calls do not wait: for all of them together, as the
    arrival of none is known."""

    messages: int  # number of messages of `MPI_Isend` and similar, without those to `MPI_PROC_NULL`
    known: int  # of these, to ranks of the same host, of sizes that the study measured
    others: int  # collective, one-sided and file operations that the same calls wait for
    seconds: float  # of the calls that begin these messages, receive, wait or test
    # least time in which the quickest path carries the known ones without MPI; more than `seconds`
    # if they overlap with the application's work
    least_seconds: float
    saved_seconds: float  # upper bound of what these messages could save: the difference, or 0


class Trace(msgspec.Struct, kw_only=True):
    """The complete file."""

    schema: int  # version of this format
    nearpeak: Public  # version of Nearpeak
    command: list[FreeText]  # its words
    library: Release  # family and version
    started: Public = ""  # start of the command, ISO 8601 in UTC; empty: not known
    exit_status: int  # of the command
    expected: int  # number of ranks in `MPI_COMM_WORLD`, of several in the largest
    missing: list[int]  # ranks of it that left no file
    wall_seconds: float  # the longest run of a rank
    ranks: list[Rank]  # each process that called `MPI_Init`
    entries: list[Entry]  # calls by operation, size, memory and peer, the longest time first
    ceilings: list[Ceiling] = []  # with `--study`: the calls against the ceilings
    # with `--study`: all messages of calls that do not block; null: the study knows none of them
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
