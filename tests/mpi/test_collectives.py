# SPDX-License-Identifier: Apache-2.0
"""Collective operations on every number of ranks, in every way, and what goes wrong in them."""

from pathlib import Path
from typing import Any

import pytest
from mpi_launches import every_library, one_library, with_options

ROOTED = ["gather", "gatherv", "scatter", "scatterv"]
TO_ALL = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
RING = [
    f"neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
]
REDUCING = ["allreduce", "exscan", "reduce", "reduce_scatter", "reduce_scatter_block", "scan"]
ALL = ["barrier", "bcast", *ROOTED, *TO_ALL, *RING, *REDUCING]
# Odd blocks, whose neighbours share words, and of numbers one that ranks do not share evenly.
FEW = ("--least-samples", "3")
QUICK = (*FEW, "--slot-ms", "0.1")
EVERY_BUFFER = (*FEW, "--slot-ms", "1")  # which takes turns
SMALL = ("--sizes", "1004", *QUICK)


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


@every_library
def test_every_way_to_call_an_operation(launcher: Any) -> None:
    names = {
        calls: [name for name in ALL if name not in BROKEN.get((launcher.library.name, calls), [])]
        for calls in ("nonblocking", "persistent")
    }
    lines = [with_options(each, "--calls", calls) for calls, each in names.items()]
    parts = launcher.run_each(lines, "--sizes", "4,1004,70000", *QUICK)
    for (calls, each), done in zip(names.items(), parts, strict=True):
        assert done.measured() == set(each), calls
        assert {record["axes"]["calls"] for record in done.of("samples")} == {calls}


@one_library
def test_there_is_no_request_for_each_of_very_many_buffers(launcher: Any) -> None:
    words = ("--calls", "persistent", "--reuse", "rotating", "--sizes", "4,4K")
    done = launcher.run("allreduce", *words, *QUICK, "--cache", "1M")
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert (skipped["status"], skipped["size_bytes"]) == ("skipped", 4)
    assert "a request for each of 32769 buffers is too many" in skipped["message"]
    assert [record["size_bytes"] for record in done.of("samples")] == [4096]


@pytest.mark.parametrize(
    ("measured_library", "calls", "name"),
    [(library, calls, name) for (library, calls), names in BROKEN.items() for name in names],
    indirect=["measured_library"],
)
def test_what_a_library_does_wrong_is_caught(launcher: Any, calls: str, name: str) -> None:
    done = launcher.run(name, "--calls", calls, *SMALL)
    assert done.code != 0
    assert not done.of("samples")


@one_library
def test_sizes_whose_buffers_grow_too_large_with_the_ranks_are_left_out(launcher: Any) -> None:
    # Of the root alone: 2 blocks, and its own.
    done = launcher.run("gather", "--sizes", "8,64K", "--memory-limit", "128K", *QUICK)
    assert [record["size_bytes"] for record in done.of("samples")] == [8]
    (problem,) = done.of("problem")
    assert problem["size_bytes"] == 65536
    assert problem["status"] == "skipped"
    assert "of a rank take 192K: more than --memory-limit 128K" in problem["message"]


@every_library
def test_operations_in_place(launcher: Any) -> None:
    names = [*ROOTED, *TO_ALL, *REDUCING]
    done = launcher.run(*with_options(names, "--inplace", "yes"), *SMALL, ranks=3)
    assert done.measured() == set(names)


@every_library
def test_every_kind_of_buffers(launcher: Any) -> None:
    """Those that rotate and are written before, and those that are on devices."""
    lines = [
        [*ALL, "--sizes", "70000", "--reuse", "rotating", "--touch", "sender", *EVERY_BUFFER],
        [*ALL, "--buffers", "D,H", *SMALL],
    ]
    for line, done in zip(lines, launcher.run_each(lines, fake="reachable=1"), strict=True):
        assert done.measured() == set(ALL), line[len(ALL) :]


@every_library
def test_sums_of_every_type_that_the_library_has(launcher: Any) -> None:
    types = launcher.axis("allreduce", "type")
    assert types[:3] == ["float", "int", "double"]
    lines = [with_options(REDUCING, "--type", each) for each in types[1:]]
    parts = launcher.run_each(lines, "--sizes", "1000", *QUICK)
    for each, done in zip(types[1:], parts, strict=True):
        # Its mpi.h may be that of another library, which has more types.
        lacks = {case["message"] for case in done.of("problem")}
        assert lacks <= ({f"the library has no sums of {each}"} if each in types[3:] else set())
        found = {case["benchmark"] for case in done.of("samples")}
        assert found == (set() if lacks else set(REDUCING)), each


@one_library
def test_a_type_that_the_library_lacks_is_one_line_and_status_2(launcher: Any) -> None:
    told = launcher.ask("--check", "allreduce", "--type", "quad", *SMALL)
    assert told.returncode == 2
    [line] = told.stderr.splitlines()
    assert "--type" in line


@one_library
def test_a_barrier_has_no_sizes(launcher: Any) -> None:
    done = launcher.run("barrier", "--sizes", "8,64", *QUICK)
    assert [record["size_bytes"] for record in done.of("samples")] == [0]


@one_library
def test_a_rank_without_memory_is_told_by_all(launcher: Any) -> None:
    names = ["allreduce", "alltoall", "gather", "bcast"]
    ways = ("blocking", "persistent")
    parts = launcher.run_each(
        [with_options(names, "--calls", calls) for calls in ways],
        *("--buffers", "D", "--sizes", "1004,2000", *QUICK),
        fake="reachable=1",
        rank_1="reachable=1,cuMemAlloc_v2:2",
    )
    for calls, done in zip(ways, parts, strict=True):
        assert not done.of("samples"), calls
        skipped = [(problem["benchmark"], problem["size_bytes"]) for problem in done.of("problem")]
        assert skipped == [(name, size) for name in names for size in (1004, 2000)], calls
        for problem in done.of("problem"):
            assert problem["status"] == "skipped"
            assert problem["message"].startswith("rank 1: cuMemAlloc_v2(")


@one_library
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
# The blocks that have it.
FAULTY_BYTES = {"sum": 1004, "dropped": 1008, "gap": 1012, "late": 1016, "swapped": 1020}
FAULTY_BYTES |= {"moved": 1024, "once": 100004}
RIGHT = 2000


def faults_of(faulty: Path, rank: int) -> dict[str, str]:
    """The environment in which operations fail on a rank, in a way that is of their size."""
    return {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": ",".join(FAULTY_BYTES),
        "NEARPEAK_FAULTY_BYTES": ",".join(map(str, FAULTY_BYTES.values())),
        "NEARPEAK_FAULTY_RANK": str(rank),
    }


@one_library
@pytest.mark.parametrize("rank", [0, 1])
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path, rank: int) -> None:
    names = [name for name in FAULTS if rank == int(name != "gather")]
    sizes = [[FAULTY_BYTES[fault] for fault in FAULTS[name]] for name in names]
    lines = [
        (name, "--sizes", ",".join(map(str, [*wrong, RIGHT])))
        for name, wrong in zip(names, sizes, strict=True)
    ]
    parts = launcher.run_each(lines, *QUICK, code=3, env=faults_of(faulty, rank))
    for name, wrong, done in zip(names, sizes, parts, strict=True):
        found = [(problem["size_bytes"], problem["rank"]) for problem in done.of("problem")]
        assert found == [(size, rank) for size in wrong], name
        # What is right is still measured.
        assert [record["size_bytes"] for record in done.of("samples")] == [RIGHT], name


@one_library
def test_a_buffer_that_stays_empty_is_one_of_many_that_rotate(launcher: Any, faulty: Path) -> None:
    words = ("bcast", "--sizes", str(FAULTY_BYTES["once"]), "--reuse", "rotating", *EVERY_BUFFER)
    done = launcher.run(*words, env=faults_of(faulty, rank=1))
    assert done.code == 3, done.err
    (problem,) = done.of("problem")
    assert problem["status"] == "wrong data"


@one_library
def test_who_leaves_a_barrier_too_soon_is_seen(launcher: Any, faulty: Path) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "early"}
    lines = [("barrier", "--calls", "nonblocking"), ("ibarrier",)]
    for line, done in zip(lines, launcher.run_each(lines, *QUICK, code=3, env=env), strict=True):
        assert not done.of("samples"), line
        (problem,) = done.of("problem")
        assert problem["message"].endswith(" left the operation before another rank came to it")
