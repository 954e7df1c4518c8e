# SPDX-License-Identifier: Apache-2.0
"""Communication beside computation: every operation, every way to compute, and what goes wrong."""

from pathlib import Path
from typing import Any

from mpi_launches import every_library, one_library

OPERATIONS = ["barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather"]
OPERATIONS += ["allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce", "exscan", "reduce"]
OPERATIONS += ["reduce_scatter", "reduce_scatter_block", "scan"]
OPERATIONS += [f"neighbor_{name}" for name in OPERATIONS[6:11]]
COLLECTIVE = [f"i{name}" for name in OPERATIONS]
ALL = [*COLLECTIVE, "isend_irecv"]
TIMES = {"communicate", "compute", "both"}
QUICK = ("--slot-ms", "0.1", "--least-samples", "3")
SMALL = ("--sizes", "1004", *QUICK)


def phases(done: Any) -> set[frozenset[str]]:
    """Of each case the parts that were timed, all of them as often as there are samples."""
    found = done.of("samples")
    assert all(
        len(times) == len(record["samples"])
        for record in found
        for times in record["phases"].values()
    )
    assert all(value > 0 for record in found for value in record["samples"])
    return {frozenset(record["phases"]) for record in found}


@every_library
def test_every_operation_is_verified(launcher: Any) -> None:
    done = launcher.run(*ALL, *SMALL)
    assert done.measured() == set(ALL)
    assert phases(done) == {frozenset(TIMES)}
    assert {record["unit"] for record in done.of("samples")} == {"ratio"}


@every_library
def test_three_ranks_that_test_meanwhile(launcher: Any) -> None:
    names = ["ibarrier", "ibcast", "iallgather", "ialltoall", "iallreduce"]
    words = [word for name in names for word in (name, "--tests", "some")]
    assert launcher.run(*words, *SMALL, ranks=3).measured() == set(names)


@one_library
def test_a_device_computes(launcher: Any, fake_nvrtc: Path) -> None:
    names = ["ibcast", "isend_irecv"]
    lines = [
        [w for name in names for w in (name, "--compute", compute, "--tests", tests)]
        for compute, tests in (("gpu", "none"), ("both", "some"))
    ]
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    parts = launcher.run_each(lines, "--buffers", "D", *SMALL, fake="reachable=1", env=env)
    for line, done in zip(lines, parts, strict=True):
        assert done.measured() == set(names), line
        assert phases(done) == {frozenset({*TIMES, "device alone", "device beside"})}, line


@one_library
def test_without_a_device_none_computes(launcher: Any) -> None:
    done = launcher.run("ibcast", "--compute", "gpu", "iallreduce", *SMALL)
    assert done.code == 0
    assert {record["benchmark"] for record in done.of("samples")} == {"iallreduce"}
    [problem] = done.of("problem")
    assert (problem["benchmark"], problem["status"]) == ("ibcast", "skipped")
    assert "needs a device" in problem["message"]


# With each the size of what has it. `beside`: what arrives is right, unless somebody tests for it
# while it is on its way.
FAULTS = {"sum": 1004, "dropped": 1008, "late": 1012, "gap": 1016, "beside": 1020}
RIGHT = 2000


@one_library
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path) -> None:
    env = {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": ",".join(FAULTS),
        "NEARPEAK_FAULTY_BYTES": ",".join(map(str, FAULTS.values())),
    }
    has = {
        name: [size for fault, size in FAULTS.items() if fault != "sum" or name == "iallreduce"]
        for name in ("ibcast", "iallreduce", "isend_irecv")
    }
    lines = [
        (name, "--tests", "some", "--sizes", ",".join(map(str, [*sizes, RIGHT])))
        for name, sizes in has.items()
    ]
    parts = launcher.run_each(lines, *QUICK, code=3, env=env)
    for (name, sizes), done in zip(has.items(), parts, strict=True):
        wrong = [(problem["size_bytes"], problem["rank"]) for problem in done.of("problem")]
        assert wrong == [(size, 1) for size in sizes], name
        assert [record["size_bytes"] for record in done.of("samples")] == [RIGHT], name
