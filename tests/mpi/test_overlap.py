# SPDX-License-Identifier: Apache-2.0
"""Communication beside computation: every operation, every way to compute, and what goes wrong."""

from pathlib import Path
from typing import Any

import pytest

OPERATIONS = ["barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather"]
OPERATIONS += ["allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce", "exscan", "reduce"]
OPERATIONS += ["reduce_scatter", "reduce_scatter_block", "scan"]
OPERATIONS += [f"neighbor_{name}" for name in OPERATIONS[6:11]]
COLLECTIVE = [f"i{name}" for name in OPERATIONS]
ALL = [*COLLECTIVE, "isend_irecv"]
TIMES = {"communicate", "compute", "both"}
QUICK = ("--slot-ms", "1", "--least-samples", "3")
SMALL = ("--sizes", "1004", *QUICK)

every_library = pytest.mark.parametrize(
    "measured_library", ["openmpi", "mpich", "intel"], indirect=True
)
one_library = pytest.mark.parametrize("measured_library", ["mpich"], indirect=True)


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
@pytest.mark.parametrize(("compute", "tests"), [("gpu", "none"), ("both", "some")])
def test_a_device_computes(launcher: Any, fake_nvrtc: Path, compute: str, tests: str) -> None:
    names = ["ibcast", "isend_irecv"]
    words = [w for name in names for w in (name, "--compute", compute, "--tests", tests)]
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    done = launcher.run(*words, "--buffers", "D", *SMALL, fake="reachable=1", env=env)
    assert done.measured() == set(names)
    assert phases(done) == {frozenset({*TIMES, "device alone", "device beside"})}


@one_library
def test_without_a_device_none_computes(launcher: Any) -> None:
    done = launcher.run("ibcast", "--compute", "gpu", "iallreduce", *SMALL)
    assert done.code == 0
    assert {record["benchmark"] for record in done.of("samples")} == {"iallreduce"}
    [problem] = done.of("problem")
    assert (problem["benchmark"], problem["status"]) == ("ibcast", "skipped")
    assert "needs a device" in problem["message"]


# `beside`: what arrives is right, unless somebody tests for it while it is on its way.
FAULTS = {
    "sum": ["iallreduce"],
    **{
        fault: ["ibcast", "iallreduce", "isend_irecv"]
        for fault in ("dropped", "late", "gap", "beside")
    },
}


@one_library
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path, fault: str) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": fault, "NEARPEAK_FAULTY_BYTES": "1004"}
    words = [word for name in FAULTS[fault] for word in (name, "--tests", "some")]
    done = launcher.run(*words, "--sizes", "1004,2000", *QUICK, env=env)
    assert done.code == 3, done.err
    wrong = [
        (problem["benchmark"], problem["size_bytes"], problem["rank"])
        for problem in done.of("problem")
    ]
    assert wrong == [(name, 1004, 1) for name in FAULTS[fault]]
    right = [(record["benchmark"], record["size_bytes"]) for record in done.of("samples")]
    assert right == [(name, 2000) for name in FAULTS[fault]]
