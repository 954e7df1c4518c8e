# SPDX-License-Identifier: Apache-2.0
"""Targets for an application, from a trace of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.numbers import percent
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.trace.ceilings import BLOCKING, kind_of
from nearpeak.trace.trace import SCHEMA, Entry, Trace
from nearpeak.tune.targets import Target

MOST = 4  # targets: each makes every trial longer
LEAST = 0.05  # of the time in MPI: the least share of a target
MEMORY = {"H,H": "host", "D,D": "device"}
# A call counts all of its blocks (docs/trace.md), the benchmark one (docs/from-omb.md).
ALL_BLOCKS = ("MPI_Alltoall", "MPI_Alltoallv", "MPI_Reduce_scatter_block")


class Chosen(NamedTuple):
    """The targets, the largest first, and the share of each of the time in MPI."""

    shares: dict[Target, float]

    @property
    def targets(self) -> str:
        """The targets as `--for` takes them."""
        return ",".join(target.label for target in self.shares)

    @property
    def summary(self) -> str:
        """A sentence that lists the targets and their shares."""
        parts = [f"{target.label} ({percent(share)} %)" for target, share in self.shares.items()]
        rest = percent(max(0.0, 1 - sum(self.shares.values())))
        return f"Of the time in MPI, by the trace: {', '.join(parts)}; {rest} % in other calls"


def read_trace(file: Path) -> Trace:
    """Reads the output of `nearpeak trace -o`; UserError for anything else."""
    try:
        trace = msgspec.json.decode(file.read_bytes(), type=Trace)
    except OSError as error:
        raise UserError(f"--trace {file}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UserError(
            f"--trace {file}: give what `nearpeak trace -o FILE -- COMMAND` wrote"
        ) from None
    if trace.schema != SCHEMA:
        raise UserError(
            f"--trace {file}: schema {trace.schema}, this nearpeak reads schema {SCHEMA}: trace the"
            " application again"
        )
    return trace


def choose(trace: Trace, buffers: str, benchmarks: Sequence[Benchmark]) -> Chosen:
    """Chooses the benchmarks and sizes that take most of the time of an application, for messages
    within a host.

    The time of calls that wait for messages is shared among the messages that were begun, by their
    bytes. UserError if no benchmark measures a call that takes a twentieth of the time in MPI or
    more.
    """
    memory = MEMORY.get(buffers)
    if memory is None:
        raise UserError(f"--buffers {buffers}: with --trace, give {' or '.join(MEMORY)}")
    seconds: dict[Target, float] = {}
    begun: dict[Target, int] = {}
    waiting = sum(entry.seconds for entry in trace.entries if kind_of(entry) == "about them")
    sent = sum(entry.bytes for entry in trace.entries if kind_of(entry) == "sent")
    for entry in trace.entries:
        target = _target(entry, trace, benchmarks)
        if target is None or entry.memory != memory:
            continue
        seconds[target] = seconds.get(target, 0.0) + entry.seconds
        if kind_of(entry) == "sent":
            begun[target] = begun.get(target, 0) + entry.bytes
    for target, count in begun.items():
        seconds[target] += waiting * count / max(1, sent)
    return Chosen(_largest(seconds, trace.mpi_seconds, buffers))


def _largest(
    seconds: Mapping[Target, float], total_seconds: float, buffers: str
) -> dict[Target, float]:
    shares = (
        {target: time / total_seconds for target, time in seconds.items()}
        if total_seconds > 0
        else {}
    )
    largest = sorted(shares, key=shares.__getitem__, reverse=True)[:MOST]
    chosen = {target: shares[target] for target in largest if shares[target] >= LEAST}
    if not chosen:
        raise UserError(
            f"--trace: no message or collective operation with buffers {buffers} within a host has"
            f" {percent(LEAST)} % of the time in MPI: say by --for what is to be faster"
        )
    return chosen


def _target(entry: Entry, trace: Trace, benchmarks: Sequence[Benchmark]) -> Target | None:
    """Returns the benchmark of the same operation, at the size of the entry's class; None if there
    is none."""
    size = entry.size_bytes
    if not size:
        return None
    name = entry.operation.removeprefix("MPI_").lower()
    alone = [
        benchmark for benchmark in benchmarks if benchmark.name == name and not benchmark.is_pair
    ]
    if alone and not entry.begins:
        blocks = max(rank.world for rank in trace.ranks) if entry.operation in ALL_BLOCKS else 1
        # A power of two: whole elements of every type.
        block_bytes = max(1 << (max(size // blocks, 1).bit_length() - 1), alone[0].smallest)
        return Target(name, block_bytes) if alone[0].sizes([block_bytes]) else None
    usual = [
        benchmark for benchmark in benchmarks if benchmark.default and entry.peer == "same host"
    ]
    if entry.operation in BLOCKING:
        alike = [benchmark.name for benchmark in usual if benchmark.one_message]
    else:
        alike = [
            benchmark.name for benchmark in usual if benchmark.one_way and kind_of(entry) == "sent"
        ]
    return Target(alike[0], size) if alike else None
