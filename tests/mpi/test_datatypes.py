# SPDX-License-Identifier: Apache-2.0
"""Datatypes in every shape and every way to pack them, and what goes wrong in them."""

from pathlib import Path
from typing import Any

import pytest
from mpi_launches import every_library, one_library

GRIDS = ["contiguous", "milc", "nas_lu", "nas_mg", "vector", "wrf"]
IRREGULAR = ["hindexed", "lammps", "specfem"]
ALL = sorted([*GRIDS, *IRREGULAR])
PACKS = ["direct", "mpi", "kernel"]
PHASES = ["pack", "communicate", "unpack"]
QUICK = ("--slot-ms", "1", "--least-samples", "3")
SIZES = ("--sizes", "1000,40000")  # not a whole number of blocks of each, and larger than a page


def each(pack: str, **more: tuple[str, ...]) -> list[str]:
    """All shapes, packed so, some with options of their own."""
    return [word for name in ALL for word in (name, "--pack", pack, *more.get(name, ()))]


@every_library
def test_every_shape_given_to_mpi(launcher: Any) -> None:
    done = launcher.run(*each("direct"), *SIZES, *QUICK)
    assert done.measured() == set(ALL)
    found = {
        (record["benchmark"], record["metric"], record["unit"], record["size_bytes"])
        for record in done.of("samples")
    }
    assert found == {(name, name, "us", size) for name in ALL for size in (1000, 40000)}
    assert all(record["verified"] and record["phases"] == {} for record in done.of("samples"))


@one_library
def test_every_way_to_pack_in_buffers_that_rotate(launcher: Any) -> None:
    lines = []
    for pack, block, face, (first, second) in (
        ("direct", "512", "y", ("vector", "struct")),
        ("mpi", "1", "z", ("struct", "indexed")),
        ("kernel", "4", "y", ("indexed", "contiguous")),
    ):
        own = {
            "vector": ("--block", block),
            "nas_mg": ("--face", face),
            "contiguous": ("--first", first, "--second", second),
        }
        lines.append(each(pack, **own))
    state = ("--reuse", "rotating", "--touch", "sender", "--offset", "16")
    done = launcher.run_each(lines, "--sizes", "1000,100000", *state, *QUICK)
    for pack, part in zip(PACKS, done, strict=True):
        assert part.measured() == set(ALL)
        for record in part.of("samples"):
            assert record["axes"]["pack"] == pack
            assert list(record["phases"]) == ([] if pack == "direct" else PHASES)


@one_library
def test_axes_and_sizes_are_those_that_are_tested(launcher: Any) -> None:
    for name in ALL:
        assert launcher.axis(name, "pack") == PACKS
    done = launcher.run("milc", "vector", "--block", "1", "--sizes", "8,1M,4M", *QUICK)
    assert done.code == 0, done.err
    # Smaller or larger ones are left out, and what would be spread too far is skipped.
    assert [(record["benchmark"], record["size_bytes"]) for record in done.of("samples")] == [
        ("milc", 1 << 20),
        ("vector", 8),
    ]
    [skipped] = done.of("problem")
    assert (skipped["benchmark"], skipped["status"]) == ("vector", "skipped")
    assert "spread over more than 256M" in skipped["message"]


@one_library
def test_buffers_on_devices_are_packed_by_a_kernel(launcher: Any, fake_nvrtc: Path) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    lines = [
        (*each(pack), "--buffers", buffers)
        for pack, buffers in (("kernel", "D,D"), ("kernel", "H,D"), ("direct", "M,D"))
    ]
    for done in launcher.run_each(lines, *SIZES, *QUICK, fake="reachable=1", env=env):
        assert done.measured() == set(ALL)
    # What a kernel writes into gaps is seen.
    env["NEARPEAK_FAKE_NVRTC"] = "i < bytes / sizeof(Word)=>i < bytes / sizeof(Word) + 1"
    words = ("vector", "--pack", "kernel", "--buffers", "D,D", "--sizes", "1000", *QUICK)
    done = launcher.run(*words, fake="reachable=1", env=env)
    assert done.code == 3
    assert "written between its blocks" in done.of("problem")[0]["message"]


@one_library
def test_the_program_copies_for_a_library_that_knows_no_devices(
    launcher: Any, fake_nvrtc: Path
) -> None:
    none, *stagings = launcher.axis("vector", "staging")
    assert [none, *stagings] == ["none", "pageable", "pinned"]
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    ways = (("direct", "D,D"), ("mpi", "D,M"), ("kernel", "D,D"), ("direct", "H,D"))
    chosen = [(staging, *way) for staging in stagings for way in ways]
    lines = [
        (*each(pack, **dict.fromkeys(ALL, ("--staging", staging))), "--buffers", buffers)
        for staging, pack, buffers in chosen
    ]
    # The library dies of an address of these devices.
    parts = launcher.run_each(lines, *SIZES, *QUICK, env=env)
    for (staging, *_), done in zip(chosen, parts, strict=True):
        assert done.measured() == set(ALL)
        assert {record["axes"]["staging"] for record in done.of("samples")} == {staging}
        assert all(record["verified"] for record in done.of("samples"))


@one_library
def test_without_kernels_they_cannot_pack(launcher: Any) -> None:
    words = ("vector", "--pack", "kernel", "--buffers", "D,D", "--sizes", "1000", *QUICK)
    done = launcher.run(*words, fake="reachable=1")
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert "--pack kernel needs kernels" in skipped["message"]


# One shape for each way to pack. In a message that a kernel has packed there are no gaps.
FAULTY = {"vector": "direct", "hindexed": "mpi", "nas_lu": "kernel"}
FAULTS = ["dropped", "misplaced", "gap", "late", "twice"]


@one_library
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path, fault: str) -> None:
    names = [name for name in FAULTY if (fault, FAULTY[name]) != ("gap", "kernel")]
    words = [word for name in names for word in (name, "--pack", FAULTY[name])]
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": fault, "NEARPEAK_FAULTY_BYTES": "1000"}
    done = launcher.run(*words, "--sizes", "1000,2000", *QUICK, env=env)
    assert done.code == 3, (done.out, done.err)
    assert [(problem["benchmark"], problem["rank"]) for problem in done.of("problem")] == [
        (name, 0) for name in names
    ]
    if fault == "gap":
        assert all("between its blocks" in problem["message"] for problem in done.of("problem"))
    # What is right is still measured.
    right = [(record["benchmark"], record["size_bytes"]) for record in done.of("samples")]
    assert right == [(name, 2000) for name in names]


@one_library
def test_a_buffer_that_stays_empty_is_one_of_many_that_rotate(launcher: Any, faulty: Path) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "once", "NEARPEAK_FAULTY_BYTES": "100000"}
    done = launcher.run("vector", "--sizes", "100000", "--reuse", "rotating", *QUICK, env=env)
    assert done.code == 3, done.err
    [problem] = done.of("problem")
    assert problem["status"] == "wrong data"


@one_library
def test_what_does_not_fit_into_the_budget_is_given_up(launcher: Any, faulty: Path) -> None:
    env = {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": "slow",
        "NEARPEAK_SLOW_MS": "60",
        "NEARPEAK_FAULTY_BYTES": "1000",
    }
    words = ("vector", "--sizes", "1000,2000", "--budget-ms", "50", *QUICK)
    done = launcher.run(*words, env=env)
    assert done.code == 0, done.err
    [problem] = done.of("problem")
    assert (problem["size_bytes"], problem["status"]) == (1000, "aborted: too slow")
    assert problem["at_least"] >= 60_000  # us: each way of the round trip waits once
    assert problem["message"].startswith("vector takes at least ")
    assert [case["size_bytes"] for case in done.of("samples")] == [2000]
