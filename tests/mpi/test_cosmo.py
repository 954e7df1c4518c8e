# SPDX-License-Identifier: Apache-2.0
"""The halo exchange of a weather model on real launches, and what goes wrong in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import every_number_of_ranks, one_library

QUICK = ("--slot-ms", "0.1", "--least-samples", "3")
PHASES = ["compute", "pack", "communicate", "unpack"]
# The smallest that has a halo, and an odd one with more than a band of rows.
SIDES = (3, 19)
SIZES = ("--sizes", ",".join(map(str, SIDES)))
# One for each number of ranks, beside `sync`.
MODES = {1: "async", 2: "deferred", 3: "nocomp", 4: "async", 6: "deferred"}


@every_number_of_ranks
def test_every_number_of_ranks(launcher: Any, ranks: int) -> None:
    done = launcher.run("cosmo", "--mode", MODES[ranks], *SIZES, *QUICK, ranks=ranks)
    assert done.verified_sizes("cosmo") == list(SIDES)
    times = [record for record in done.of("samples") if record["metric"] == "cosmo"]
    rates = [record for record in done.of("samples") if record["metric"] == "cosmo_rate"]
    for time, rate in zip(times, rates, strict=True):
        assert (time["unit"], rate["unit"]) == ("us", "GLUP/s")
        assert list(time["phases"]) == PHASES[MODES[ranks] == "nocomp" :]
        cells = 4 * 60 * ranks * time["size_bytes"] ** 2
        assert rate["samples"][0] == pytest.approx(cells / time["samples"][0] / 1e3, rel=1e-6)
        work = time["work"]
        if MODES[ranks] == "nocomp":  # 3 columns at each of 4 sides, of 4 fields
            halo = 4 * 3 * time["size_bytes"] * 60 * 4 * 8
            assert sum(work["messages"]) + work["own_bytes"] == halo


@one_library
def test_every_mode(launcher: Any) -> None:
    assert launcher.axis("cosmo", "fields") == ["4", "8", "16"]
    assert launcher.axis("cosmo", "updates") == ["1", "2"]
    modes = launcher.axis("cosmo", "mode")
    assert modes == ["sync", "async", "deferred", "nocomm", "nocomp"]
    lines = [("cosmo", "--mode", mode, "--updates", "2") for mode in modes]
    each = launcher.run_each(lines, *SIZES, *QUICK, ranks=4)
    for mode, done in zip(modes, each, strict=True):
        assert done.verified_sizes("cosmo") == list(SIDES)
        parts = {"nocomm": PHASES[:1], "nocomp": PHASES[1:]}.get(mode, PHASES)
        assert all(list(record["phases"]) == parts for record in done.of("samples"))


@one_library
def test_fields_of_devices(launcher: Any, fake_nvrtc: Path) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    for ranks, ways in {
        1: [("nocomm", "D")],
        2: [("sync", "D"), ("deferred", "H,D"), ("deferred", "D")],
        3: [("nocomp", "D")],
        4: [("async", "M")],
    }.items():
        lines = [("cosmo", "--mode", mode, "--buffers", buffers) for mode, buffers in ways]
        each = launcher.run_each(lines, *SIZES, *QUICK, fake="reachable=1", env=env, ranks=ranks)
        for (mode, _), done in zip(ways, each, strict=True):
            assert done.verified_sizes("cosmo") == list(SIDES)
            computes = {"async": "exposed compute", "nocomp": "pack"}.get(mode, "compute")
            assert all(next(iter(record["phases"])) == computes for record in done.of("samples"))
    # The library dies of an address of these devices.
    lines = [
        ("cosmo", "--mode", mode, "--updates", "2", "--staging", staging, "--buffers", "D")
        for staging, mode in (("pageable", "sync"), ("pinned", "deferred"), ("pipelined", "async"))
    ]
    for done in launcher.run_each(lines, *SIZES, *QUICK, env=env):
        assert done.verified_sizes("cosmo") == list(SIDES)


@one_library
def test_fields_of_opencl(launcher: Any, opencl: str) -> None:
    words = ("cosmo", "--mode", "async", "--buffers", "D", "--devices", opencl)
    done = launcher.run(*words, "--staging", "pinned", *SIZES, *QUICK)
    assert done.verified_sizes("cosmo") == list(SIDES)


@one_library
def test_what_does_not_fit_is_said(launcher: Any) -> None:
    done = launcher.run("cosmo", "--sizes", "300", *QUICK)
    assert done.code == 0, done.err
    [told] = done.of("problem")
    assert "more than --memory-limit 512M" in told["message"]
    done = launcher.run("cosmo", "--buffers", "D", "--sizes", "8", *QUICK, fake="reachable=1")
    [told] = done.of("problem")
    assert told["status"] == "skipped"
    assert "kernels" in told["message"]


@one_library
@pytest.mark.parametrize(
    "defect",
    [
        "down1 = down2=>down1 = down3",
        "here[at - 3] + here[at + 3]=>here[at - 3] + here[at - 3]",
        "side - first : band=>side - first - 1 : band",  # a row is left out
        "message[i] = cells[=>message[i] = cells[first + 0 * ",  # of a face one cell alone
        "row % rows * pitch=>0 * pitch",
    ],
    ids=["window", "side", "band", "face", "rows"],
)
def test_wrong_kernels_are_caught(launcher: Any, fake_nvrtc: Path, defect: str) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc), "NEARPEAK_FAKE_NVRTC": defect}
    words = ("cosmo", "--buffers", "D", "--sizes", "9,18", *QUICK)
    done = launcher.run(*words, fake="reachable=1", env=env)
    assert done.code == 3, (done.out, done.err)


@one_library
@pytest.mark.parametrize(("fault", "rank"), [("dropped", 3), ("misplaced", 0), ("late", 2)])
def test_wrong_halos_are_caught(
    launcher: Any, compile_shim: Callable[[str], Path], fault: str, rank: int
) -> None:
    side = 9
    env = {
        "LD_PRELOAD": str(compile_shim("faulty_pt2pt")),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": str(4 * 60 * 3 * side * 8),
        "NEARPEAK_FAULTY_RANK": str(rank),
    }
    lines = [("cosmo", "--mode", mode) for mode in ("sync", "async", "deferred", "nocomp")]
    for done in launcher.run_each(lines, "--sizes", str(side), *QUICK, code=3, env=env, ranks=4):
        assert [problem["status"] for problem in done.of("problem")] == ["wrong data"]
