# SPDX-License-Identifier: Apache-2.0
"""Particles that move between ranks on real launches, and what goes wrong with them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import every_number_of_ranks, one_library

QUICK = ("--slot-ms", "0.1", "--least-samples", "3")
PHASES = ["count", "pack", "communicate", "unpack"]
# One alone, fewer than directions, and odd ones of which some directions have more.
COUNTS = (1, 17, 1001, 5000)
SIZES = ("--sizes", ",".join(map(str, COUNTS)))
WAYS = ["isend", "alltoallv", "neighbor_alltoallv"]
# One for each number of ranks.
USED = {1: WAYS[2], 2: WAYS[0], 3: WAYS[1], 4: WAYS[2], 6: WAYS[0]}


@every_number_of_ranks
def test_every_number_of_ranks(launcher: Any, ranks: int) -> None:
    words = ("migrate", "--exchange", USED[ranks], "--share", "10")
    done = launcher.run(*words, *SIZES, *QUICK, ranks=ranks)
    assert done.verified_sizes("migrate") == list(COUNTS)
    times = [record for record in done.of("samples") if record["metric"] == "migrate"]
    rates = [record for record in done.of("samples") if record["metric"] == "migrate_rate"]
    for time, rate in zip(times, rates, strict=True):
        assert (time["unit"], rate["unit"]) == ("us", "M/s")
        assert list(time["phases"]) == PHASES
        moved = ranks * max(1, int(time["size_bytes"] / 10 + 0.5))
        assert rate["samples"][0] == pytest.approx(moved / time["samples"][0], rel=1e-6)
        messages = time["work"]["messages"]
        assert time["work"]["announced_bytes"] == 4  # how many go to each partner
        assert sum(messages) + time["work"]["own_bytes"] == moved / ranks * 32
        if ranks == 1 or moved >= ranks * 26:
            assert bool(messages) == (ranks > 1)


@one_library
def test_every_way(launcher: Any) -> None:
    axes = {name: launcher.axis("migrate", name) for name in ("exchange", "share", "record")}
    assert axes == {
        "exchange": WAYS,
        "share": ["1", "0.1", "10"],
        "record": ["32", "192", "336"],
    }
    assert launcher.axis("migrate", "skew") == ["uniform", "10to1"]
    lines = [
        ("migrate", "--exchange", way, "--share", share, "--record", record, "--skew", "10to1")
        for way in WAYS
        for share, record in zip(axes["share"], axes["record"], strict=True)
    ]
    for done in launcher.run_each(lines, *SIZES, *QUICK, ranks=4):
        assert done.verified_sizes("migrate") == list(COUNTS)


@one_library
def test_particles_of_devices(launcher: Any, fake_nvrtc: Path) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    for ranks, ways in {
        2: [(WAYS[0], "32", "D"), (WAYS[0], "32", "H,D"), (WAYS[1], "32", "P")],
        3: [(WAYS[2], "336", "D")],
        4: [(WAYS[1], "192", "M")],
    }.items():
        lines = [
            ("migrate", "--exchange", way, "--record", record, "--buffers", buffers)
            for way, record, buffers in ways
        ]
        words = ("--share", "10", *SIZES, *QUICK)
        for done in launcher.run_each(lines, *words, fake="reachable=1", env=env, ranks=ranks):
            assert done.verified_sizes("migrate") == list(COUNTS)
    # The library dies of an address of these devices.
    lines = [
        ("migrate", "--exchange", way, "--staging", staging, "--buffers", "D", "--skew", "10to1")
        for way, staging in (("isend", "pageable"), ("alltoallv", "pinned"))
    ]
    for done in launcher.run_each(lines, *SIZES, *QUICK, env=env):
        assert done.verified_sizes("migrate") == list(COUNTS)


@one_library
def test_particles_of_opencl(launcher: Any, opencl: str) -> None:
    words = ("migrate", "--share", "10", "--buffers", "D", "--devices", opencl)
    done = launcher.run(*words, "--staging", "pinned", *SIZES, *QUICK)
    assert done.verified_sizes("migrate") == list(COUNTS)


@one_library
def test_what_does_not_fit_is_said(launcher: Any) -> None:
    done = launcher.run("migrate", "--sizes", "16M", "--record", "192", *QUICK)
    assert done.code == 0, done.err
    assert "more than --memory-limit 512M" in done.of("problem")[0]["message"]
    told_of = {"none": "kernels", "pipelined": "staged as a whole"}
    lines = [("migrate", "--buffers", "D", "--staging", staging) for staging in told_of]
    each = launcher.run_each(lines, "--sizes", "100", *QUICK, fake="reachable=1")
    for told, done in zip(told_of.values(), each, strict=True):
        assert {problem["status"] for problem in done.of("problem")} == {"skipped"}
        assert told in done.of("problem")[0]["message"]


@one_library
@pytest.mark.parametrize(
    "defect",
    [
        "records[leaving[i / pieces] * pieces + i % pieces] = in[i]=>"
        "if (i >= pieces) records[leaving[i / pieces] * pieces + i % pieces] = in[i]",
        "out[i] = records[leaving[i / pieces]=>out[i] = records[leaving[i / pieces / 2 * 2]",
        "i % pieces] = in[i];=>i % pieces] = in[i - i % pieces];",
        "counts[i] = sum;=>counts[i] = 0;",
        "mark = directions[place];=>mark = directions[0];",
        "place < moving=>place + 1 < moving",
    ],
    ids=["lost", "doubled", "altered", "sums", "direction", "left"],
)
def test_wrong_kernels_are_caught(launcher: Any, fake_nvrtc: Path, defect: str) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc), "NEARPEAK_FAKE_NVRTC": defect}
    words = ("migrate", "--buffers", "D", "--share", "10", "--sizes", "5000", *QUICK)
    done = launcher.run(*words, fake="reachable=1", env=env)
    assert done.code == 3, (done.out, done.err)


@one_library
@pytest.mark.parametrize("fault", ["dropped", "misplaced", "late"])
def test_wrong_messages_are_caught(
    launcher: Any, compile_shim: Callable[[str], Path], fault: str
) -> None:
    env = {
        "LD_PRELOAD": str(compile_shim("faulty_pt2pt")),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": str(10 * 32),
        "NEARPEAK_FAULTY_RANK": "1",
    }
    done = launcher.run("migrate", "--sizes", "26000", *QUICK, env=env, ranks=3)
    assert done.code == 3, (done.out, done.err)
    [problem] = done.of("problem")
    assert problem["status"] == "wrong data"


@one_library
@pytest.mark.parametrize("fault", ["doubled", "altered", "stale"])
def test_wrong_operations_are_caught(launcher: Any, faulty: Path, fault: str) -> None:
    env = {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": "32",
        "NEARPEAK_FAULTY_RANK": "1",
    }
    lines = [("migrate", "--exchange", way) for way in WAYS[1:]]
    for done in launcher.run_each(lines, "--sizes", "1001", *QUICK, code=3, env=env):
        assert [problem["status"] for problem in done.of("problem")] == ["wrong data"]


@one_library
@pytest.mark.parametrize("way", WAYS)
def test_numbers_of_particles_that_cannot_be_are_wrong_data(
    launcher: Any, compile_shim: Callable[[str], Path], way: str
) -> None:
    """And what comes next is measured."""
    shim, fault = ("faulty_pt2pt", "misplaced") if way == "isend" else ("faulty_migrate", "counted")
    env = {
        "LD_PRELOAD": str(compile_shim(shim)),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": "4",
        "NEARPEAK_FAULTY_RANK": "1",
    }
    words = ("migrate", "--exchange", way, "--sizes", "5000", *QUICK)
    done = launcher.run(*words, "latency", "--sizes", "8", *QUICK, env=env)
    assert done.code == 3, (done.out, done.err)
    [problem] = done.of("problem")
    assert (problem["status"], problem["rank"]) == ("wrong data", 1)
    assert {record["benchmark"] for record in done.of("samples")} == {"latency"}
