# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.trace.trace import SCHEMA, Entry, Rank, Trace
from nearpeak.tune.targets import Target
from nearpeak.tune.traced import choose

PAIR, ALL = RankRule("exactly", 2), RankRule("at least", 2)
BENCHMARKS = [
    Benchmark("get_latency", [Metric("get", "us", "lower")], PAIR, ceiling="measured"),
    Benchmark("latency", [Metric("l", "us", "lower")], PAIR, ceiling="measured", default=True),
    Benchmark("bw", [Metric("bw", "GB/s", "higher")], PAIR, symmetric=False, default=True),
    *(Benchmark(name, [Metric("", "us", "lower")], ALL) for name in ("allreduce", "alltoall")),
    *(Benchmark(name, [Metric("", "us", "lower")], ALL) for name in ("bcast", "iallreduce")),
]


def entry(operation: str, size: int | None, seconds: float, **known: Any) -> Entry:
    known = {"memory": "host", "peer": "none", "bytes": 10 * (size or 0)} | known
    return Entry(
        operation=operation, size_bytes=size, calls=10, seconds=seconds, longest_seconds=1, **known
    )


def trace(*entries: Entry) -> Trace:
    rank = Rank(
        rank=0,
        host="h",
        process=1,
        run_seconds=20.0,
        mpi_seconds=10.0,
        threads=1,
        finalized=True,
        world=4,
        launched=4,
        calls=10,
        bytes=10,
        waiting_seconds=0.0,
    )
    return Trace(
        schema=SCHEMA,
        nearpeak="0",
        command=["app"],
        library="alpha 1",
        exit_status=0,
        expected=4,
        missing=[],
        wall_seconds=20.0,
        ranks=[rank],
        entries=list(entries),
    )


def test_what_takes_longest_is_chosen() -> None:
    found = choose(
        trace(
            entry("MPI_Send", 64, 1.0, peer="same host"),
            entry("MPI_Recv", 64, 1.5, peer="same host"),
            entry("MPI_Alltoall", 4096, 2.0),
            entry("MPI_Allreduce", 8, 3.0),
            entry("MPI_Bcast", 8, 0.4),
            entry("MPI_Iallreduce", 8, 2.0, begins=True),
            entry("MPI_Put", 8, 2.0, peer="same host"),
            entry("MPI_Send", 128, 4.0, peer="other host"),
            entry("MPI_Barrier", None, 4.0),
        ),
        "H,H",
        BENCHMARKS,
    )
    assert found.targets == "allreduce:8,latency:64,alltoall:1K"
    assert list(found.shares.values()) == [0.3, 0.25, 0.2]
    assert found.summary == (
        "Of the time in MPI, by the trace: allreduce:8 (30.0 %), latency:64 (25.0 %), alltoall:1K"
        " (20.0 %); 25.0 % in other calls"
    )


def test_who_waits_waits_for_the_bytes_that_were_begun() -> None:
    found = choose(
        trace(
            entry("MPI_Isend", 64, 0.1, peer="same host", begins=True, bytes=100),
            entry("MPI_Isend", 1024, 0.1, peer="same host", begins=True, bytes=300),
            entry("MPI_Irecv", 1024, 0.1, peer="same host", begins=True),
            entry("MPI_Waitall", None, 3.9),
        ),
        "H,H",
        BENCHMARKS,
    )
    assert found.shares == pytest.approx({Target("bw", 1024): 0.31, Target("bw", 64): 0.11})


def test_messages_of_the_other_memory_are_others() -> None:
    of_gpu = entry("MPI_Send", 64, 1.0, peer="same host", memory="device")
    assert choose(trace(of_gpu), "D,D", BENCHMARKS).targets == "latency:64"
    with pytest.raises(UserError, match=r"^--trace: no message .* with buffers H,H within a host"):
        choose(trace(of_gpu), "H,H", BENCHMARKS)
    with pytest.raises(UserError, match=r"^--buffers H,D: with --trace, give H,H or D,D$"):
        choose(trace(of_gpu), "H,D", BENCHMARKS)


def test_sizes_are_those_that_the_benchmark_has() -> None:
    """Of an operation with a block for each rank, of 6; and of one that begins with 4 bytes."""
    few = [msgspec.structs.replace(each, smallest=4) for each in BENCHMARKS]
    told = trace(
        entry("MPI_Alltoall", 4096, 4.0),
        entry("MPI_Allreduce", 1, 3.0),
        entry("MPI_Bcast", 1024, 2.0),
    )
    told = msgspec.structs.replace(told, ranks=[msgspec.structs.replace(told.ranks[0], world=6)])
    assert choose(told, "H,H", few).targets == "alltoall:512,allreduce:4,bcast:1K"
    none = [msgspec.structs.replace(each, largest=8) for each in few]
    assert choose(told, "H,H", none).targets == "allreduce:4"
