# SPDX-License-Identifier: Apache-2.0
"""The benchmarks that measure the calls of an application."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.findings.weights import Weigh
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Case
from nearpeak.trace.ceilings import BLOCKING, BUFFERS, kind_of
from nearpeak.trace.trace import SCHEMA, Entry, Trace

RECEIVING = ("MPI_Recv",)  # the sender has counted the message
# A call counts all of its blocks (docs/how-to/trace.md), the benchmark one
# (docs/how-to/from-omb.md).
ALL_BLOCKS = ("MPI_Alltoall", "MPI_Alltoallv", "MPI_Reduce_scatter_block")


class Measured(NamedTuple):
    """A benchmark at a size of its messages, with the buffers of the call."""

    benchmark: str
    size_bytes: int
    buffers: str  # `H,H`, `D,D`; empty: other memory


def read_trace(file: Path) -> Trace:
    """Reads the output of `nearpeak trace -o`; UserError for anything else."""
    try:
        trace = msgspec.json.decode(file.read_bytes(), type=Trace)
    except OSError as error:
        raise UserError(f"--trace {file}: {error.strerror}") from None
    except UNDECODABLE:
        raise UserError(
            f"--trace {file}: give what `nearpeak trace -o FILE -- COMMAND` wrote"
        ) from None
    if trace.schema != SCHEMA:
        raise UserError(
            f"--trace {file}: schema {trace.schema}, this nearpeak reads schema {SCHEMA}: trace the"
            " application again"
        )
    return trace


def measured(
    trace: Trace, benchmarks: Sequence[Benchmark]
) -> Iterator[tuple[Entry, Measured | None]]:
    """Yields each entry with the benchmark of the same operation, at the size of the entry's class;
    None if there is none."""
    for entry in trace.entries:
        yield entry, _measured(entry, trace, benchmarks)


def _measured(entry: Entry, trace: Trace, benchmarks: Sequence[Benchmark]) -> Measured | None:
    size = entry.size_bytes
    if not size:
        return None
    buffers = BUFFERS.get(entry.memory, "")
    name = entry.operation.removeprefix("MPI_").lower()
    alone = [
        benchmark for benchmark in benchmarks if benchmark.name == name and not benchmark.is_pair
    ]
    if alone and not entry.begins:
        blocks = max(rank.world for rank in trace.ranks) if entry.operation in ALL_BLOCKS else 1
        # A power of two: whole elements of every type.
        block_bytes = max(1 << (max(size // blocks, 1).bit_length() - 1), alone[0].smallest)
        return Measured(name, block_bytes, buffers) if alone[0].sizes([block_bytes]) else None
    usual = [
        benchmark for benchmark in benchmarks if benchmark.default and entry.peer == "same host"
    ]
    if entry.operation in BLOCKING:
        alike = [benchmark.name for benchmark in usual if benchmark.one_message]
    else:
        alike = [
            benchmark.name for benchmark in usual if benchmark.one_way and kind_of(entry) == "sent"
        ]
    return Measured(alike[0], size, buffers) if alike else None


def weights(trace: Trace, benchmarks: Sequence[Benchmark]) -> Weigh:
    """Returns the weights of cases in this application: the number of its calls, within a host, of
    the same operation, with such buffers and of the same class of sizes (powers of two)."""
    calls: Counter[tuple[str, int, str]] = Counter()
    for entry, like in measured(trace, benchmarks):
        if like is not None and entry.operation not in RECEIVING:
            calls[like.benchmark, like.size_bytes.bit_length(), like.buffers] += entry.calls

    def weigh(benchmark: Benchmark, case: Case) -> float:
        return calls[benchmark.name, case.x.bit_length(), case.buffers]

    return weigh
