# SPDX-License-Identifier: Apache-2.0
"""Collective operations on every number of ranks, in every way, and what goes wrong in them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOTED = ["gather", "gatherv", "scatter", "scatterv"]
TO_ALL = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
RING = [
    f"neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
]
REDUCING = ["allreduce", "exscan", "reduce", "reduce_scatter", "reduce_scatter_block", "scan"]
ALL = ["barrier", "bcast", *ROOTED, *TO_ALL, *RING, *REDUCING]
# Odd blocks, whose neighbours share words, and of numbers one that ranks do not share evenly.
QUICK = ("--slot-ms", "1", "--least-samples", "3")
SMALL = ("--sizes", "1004", *QUICK)


EVERY = pytest.mark.parametrize("measured_library", ["openmpi", "mpich", "intel"], indirect=True)
# What is not about the library.
ONE = pytest.mark.parametrize("measured_library", ["mpich"], indirect=True)


def options(names: list[str], *words: str) -> Iterator[str]:
    """Each benchmark with these options of its own."""
    for name in names:
        yield from (name, *words)


@pytest.mark.parametrize(
    ("measured_library", "ranks"),
    [("openmpi", 2), ("mpich", 3), ("intel", 3), ("mpich", 4), ("openmpi", 4)],
    indirect=["measured_library"],
)
def test_every_operation_is_verified_on_any_number_of_ranks(launcher: Any, ranks: int) -> None:
    assert launcher.run(*ALL, *SMALL, ranks=ranks).measured() == set(ALL)


# Intel MPI 2021.19 copies the own block of a rank when the request is made, not when it is started:
# a few lines of C without Nearpeak show the same.
BROKEN = {("intel", "persistent"): ["allgather", "gather", "scatter"]}


@EVERY
@pytest.mark.parametrize("calls", ["nonblocking", "persistent"])
def test_every_way_to_call_an_operation(launcher: Any, calls: str) -> None:
    broken = BROKEN.get((launcher.library.name, calls), [])
    names = [name for name in ALL if name not in broken]
    done = launcher.run(*options(names, "--calls", calls), "--sizes", "4,1004,100000", *QUICK)
    assert done.measured() == set(names)
    assert {record["axes"]["calls"] for record in done.of("samples")} == {calls}
    for name in broken:
        done = launcher.run(name, "--calls", calls, *SMALL)
        assert done.code != 0
        assert not done.of("samples")


@ONE
def test_sizes_whose_buffers_grow_too_large_with_the_ranks_are_left_out(launcher: Any) -> None:
    # Of the root alone: 2 blocks, and its own.
    done = launcher.run("gather", "--sizes", "8,64K", "--memory-limit", "128K", *QUICK)
    assert [record["size_bytes"] for record in done.of("samples")] == [8]
    (problem,) = done.of("problem")
    assert problem["size_bytes"] == 65536
    assert problem["status"] == "skipped"
    assert "of a rank take 192K: more than --memory-limit 128K" in problem["message"]


@EVERY
def test_operations_in_place(launcher: Any) -> None:
    names = [*ROOTED, *TO_ALL, *REDUCING]
    done = launcher.run(*options(names, "--inplace", "yes"), *SMALL, ranks=3)
    assert done.measured() == set(names)


@EVERY
def test_rotating_buffers_that_are_written_before(launcher: Any) -> None:
    words = ("--sizes", "100000", "--reuse", "rotating", "--touch", "sender", *QUICK)
    assert launcher.run(*ALL, *words).measured() == set(ALL)


@EVERY
def test_sums_of_every_type_that_the_library_has(launcher: Any) -> None:
    types = launcher.axis("allreduce", "type")
    assert types[:3] == ["float", "int", "double"]
    for each in types[1:]:
        done = launcher.run(*options(REDUCING, "--type", each), "--sizes", "1000", *QUICK)
        assert done.code == 0, (done.out, done.err)
        # Its mpi.h may be that of another library, which has more types.
        lacks = {case["message"] for case in done.of("problem")}
        assert lacks <= ({f"the library has no sums of {each}"} if each in types[3:] else set())
        found = {case["benchmark"] for case in done.of("samples")}
        assert found == (set() if lacks else set(REDUCING))


@ONE
def test_a_type_that_the_library_lacks_is_one_line_and_status_2(launcher: Any) -> None:
    done = launcher.run("allreduce", "--type", "quad", *SMALL)
    assert done.code == 2
    assert len(done.lines()) == 1
    assert "--type" in done.lines()[0]


@ONE
def test_a_barrier_has_no_sizes(launcher: Any) -> None:
    done = launcher.run("barrier", "--sizes", "8,64", *QUICK)
    assert [record["size_bytes"] for record in done.of("samples")] == [0]


@EVERY
def test_buffers_that_are_on_devices(launcher: Any) -> None:
    done = launcher.run(*ALL, "--buffers", "D,H", *SMALL, fake="reachable=1")
    assert done.measured() == set(ALL)


@ONE
@pytest.mark.parametrize("words", [("--calls", "blocking"), ("--calls", "persistent")])
def test_a_rank_without_memory_is_told_by_all(launcher: Any, words: tuple[str, ...]) -> None:
    names = ["allreduce", "alltoall", "gather", "bcast"]
    done = launcher.run(
        *options(names, *words),
        *("--buffers", "D", "--sizes", "1004,2000", *QUICK),
        fake="reachable=1",
        rank_1="reachable=1,cuMemAlloc_v2:2",
    )
    assert done.code == 0, done.err
    assert not done.of("samples")
    skipped = [(problem["benchmark"], problem["size_bytes"]) for problem in done.of("problem")]
    assert skipped == [(name, size) for name in names for size in (1004, 2000)]
    for problem in done.of("problem"):
        assert problem["status"] == "skipped"
        assert problem["message"].startswith("rank 1: cuMemAlloc_v2(")


@ONE
def test_what_one_rank_has_no_memory_for_does_not_end_what_follows(launcher: Any) -> None:
    done = launcher.run(
        *("allreduce", "ialltoall"),
        *("--buffers", "D", "--sizes", "1004,2000", *QUICK),
        fake="reachable=1",
        rank_1="reachable=1,cuMemAlloc_v2:2:1",
    )
    assert done.code == 0, done.err
    [problem] = done.of("problem")
    assert problem["message"].startswith("rank 1: cuMemAlloc_v2(")
    assert len({(record["benchmark"], record["size_bytes"]) for record in done.of("samples")}) == 3


FAULTS = {
    "bcast": ["dropped", "gap", "late"],
    "gather": ["dropped", "gap", "late", "swapped"],
    "allgather": ["dropped", "gap", "late", "swapped"],
    "alltoall": ["dropped", "gap", "late", "swapped"],
    "neighbor_alltoall": ["dropped", "gap", "late"],  # of two ranks, either order is right
    "allreduce": ["sum", "dropped", "gap", "late", "moved"],
    "scan": ["sum", "dropped", "gap", "late", "moved"],
}


def fault_of(faulty: Path, fault: str, size_bytes: int, rank: int) -> dict[str, str]:
    """The environment in which operations of blocks of this size fail on a rank."""
    return {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": str(size_bytes),
        "NEARPEAK_FAULTY_RANK": str(rank),
    }


@ONE
@pytest.mark.parametrize("fault", ["sum", "dropped", "swapped", "gap", "late", "moved"])
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path, fault: str) -> None:
    names = [name for name, all_faults in FAULTS.items() if fault in all_faults]
    for rank in (0, 1):
        here = [name for name in names if rank == int(name != "gather")]
        if not here:
            continue
        env = fault_of(faulty, fault, size_bytes=1004, rank=rank)
        done = launcher.run(*here, "--sizes", "1004,2000", *QUICK, env=env)
        assert done.code == 3, done.err
        wrong = [
            (problem["benchmark"], problem["size_bytes"], problem["rank"])
            for problem in done.of("problem")
        ]
        assert wrong == [(name, 1004, rank) for name in here]
        # What is right is still measured.
        right = [(record["benchmark"], record["size_bytes"]) for record in done.of("samples")]
        assert right == [(name, 2000) for name in here]


@ONE
def test_a_buffer_that_stays_empty_is_one_of_many_that_rotate(launcher: Any, faulty: Path) -> None:
    env = fault_of(faulty, "once", size_bytes=100004, rank=1)
    done = launcher.run("bcast", "--sizes", "100004", "--reuse", "rotating", *QUICK, env=env)
    assert done.code == 3, done.err
    (problem,) = done.of("problem")
    assert problem["status"] == "wrong data"


@ONE
@pytest.mark.parametrize("words", [("barrier", "--calls", "nonblocking"), ("ibarrier",)])
def test_who_leaves_a_barrier_too_soon_is_seen(
    launcher: Any, faulty: Path, words: tuple[str, ...]
) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "early"}
    done = launcher.run(*words, *QUICK, env=env)
    assert done.code == 3, done.err
    assert not done.of("samples")
