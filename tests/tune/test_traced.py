# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
import msgspec
import pytest
from made_trace import entry, ran, trace

from nearpeak.errors import UserError
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.trace.trace import Entry, Trace
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


def application(*entries: Entry, world: int = 4) -> Trace:
    """Returns the trace of an application that was in MPI for ten seconds."""
    return trace(*entries, ranks=[ran(mpi_seconds=10.0, world=world)])


def test_what_takes_longest_is_chosen() -> None:
    found = choose(
        application(
            entry("MPI_Send", 64, seconds=1.0),
            entry("MPI_Recv", 64, seconds=1.5),
            entry("MPI_Alltoall", 4096, seconds=2.0),
            entry("MPI_Allreduce", 8, seconds=3.0),
            entry("MPI_Bcast", 8, seconds=0.4),
            entry("MPI_Iallreduce", 8, seconds=2.0, begins=True),
            entry("MPI_Put", 8, seconds=2.0),
            entry("MPI_Send", 128, seconds=4.0, peer="other host"),
            entry("MPI_Barrier", None, seconds=4.0),
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
        application(
            entry("MPI_Isend", 64, seconds=0.1, begins=True, bytes=100),
            entry("MPI_Isend", 1024, seconds=0.1, begins=True, bytes=300),
            entry("MPI_Irecv", 1024, seconds=0.1, begins=True),
            entry("MPI_Waitall", None, seconds=3.9),
        ),
        "H,H",
        BENCHMARKS,
    )
    assert found.shares == pytest.approx({Target("bw", 1024): 0.31, Target("bw", 64): 0.11})


def test_messages_of_the_other_memory_are_others() -> None:
    of_gpu = entry("MPI_Send", 64, seconds=1.0, memory="device")
    assert choose(application(of_gpu), "D,D", BENCHMARKS).targets == "latency:64"
    with pytest.raises(UserError, match=r"^--trace: no message .* with buffers H,H within a host"):
        choose(application(of_gpu), "H,H", BENCHMARKS)
    with pytest.raises(UserError, match=r"^--buffers H,D: with --trace, give H,H or D,D$"):
        choose(application(of_gpu), "H,D", BENCHMARKS)


def test_sizes_are_those_that_the_benchmark_has() -> None:
    """Of an operation with a block for each rank, of 6; and of one that begins with 4 bytes."""
    few = [msgspec.structs.replace(each, smallest=4) for each in BENCHMARKS]
    told = application(
        entry("MPI_Alltoall", 4096, seconds=4.0),
        entry("MPI_Allreduce", 1, seconds=3.0),
        entry("MPI_Bcast", 1024, seconds=2.0),
        world=6,
    )
    assert choose(told, "H,H", few).targets == "alltoall:512,allreduce:4,bcast:1K"
    none = [msgspec.structs.replace(each, largest=8) for each in few]
    assert choose(told, "H,H", none).targets == "allreduce:4"
