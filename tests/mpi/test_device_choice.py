# SPDX-License-Identifier: Apache-2.0
"""Device buffers on real launches: which device a rank takes, and what is said where it cannot."""

from typing import Any

import pytest
from mpi_launches import one_library

from nearpeak.launching.command_lines import path_environment
from nearpeak.terms.path import DataPath, Endpoint

UUIDS = (
    "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0",
    "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1",
)
SIZES = (1, 1000, 65537, 1 << 20)
QUICK = ("--sizes", ",".join(map(str, SIZES)), "--slot-ms", "0.1", "--least-samples", "3")
QUICK += ("--window", "4")
# The fake driver's memory can be touched by the CPU: a library that knows nothing of devices
# stands for one that moves device buffers.
REACHABLE = "reachable=1"


# Those of a launch need devices on the same ranks.
@pytest.mark.parametrize("all_buffers", [["D,D", "D,M", "M,P", "P,D"], ["H,D"]])
def test_every_kind_of_buffers_is_moved_and_verified(launcher: Any, all_buffers: list[str]) -> None:
    lines = [("latency", "bibw", "--buffers", buffers) for buffers in all_buffers]
    parts = launcher.run_each(lines, *QUICK, fake=REACHABLE)
    for buffers, done in zip(all_buffers, parts, strict=True):
        assert done.measured() == {"latency", "bibw"}, buffers
        assert [case["size_bytes"] for case in done.of("samples")] == 2 * list(SIZES), buffers
        assert {case["buffers"] for case in done.of("samples")} == {buffers}
        assert f"; buffers {buffers};" in done.out
        [environment] = done.of("environment")
        took = [rank["device"] and rank["device"]["uuid"] for rank in environment["ranks"]]
        needs = [kind != "H" for kind in buffers.split(",")]
        assert took == [uuid if need else None for uuid, need in zip(UUIDS, needs, strict=True)]


def test_ranks_take_the_devices_that_they_are_given(launcher: Any) -> None:
    words = ("latency", "--buffers", "D,D", "--sizes", "8", "--slot-ms", "1")
    for devices, expected in (("1,0", UUIDS[::-1]), (UUIDS[1], (UUIDS[1], UUIDS[1]))):
        done = launcher.run(*words, "--devices", devices, fake=REACHABLE)
        assert done.code == 0, done.err
        [environment] = done.of("environment")
        assert [rank["device"]["uuid"] for rank in environment["ranks"]] == list(expected)
        assert environment["ranks"][0]["device"]["name"].startswith("Fake GPU")


@one_library
def test_between_hosts_devices_are_counted_by_their_pci_addresses(launcher: Any) -> None:
    """As NVML counts them, which names them on other hosts; by itself CUDA counts the fastest
    first."""
    ends = [Endpoint(memory="gpu", cpus=[0], numa_node=0, gpu="G", host=host) for host in "ab"]
    path = DataPath(id="p", summary="", transport="network", ends=tuple(ends))
    words = ("latency", "--buffers", "D,D", "--sizes", "8", "--slot-ms", "1", "--devices", "0,1")
    for env, expected in ((path_environment(path), UUIDS), ({}, UUIDS[::-1])):
        done = launcher.run(*words, fake=f"{REACHABLE},fastest=1", env=env)
        assert done.code == 0, done.err
        [environment] = done.of("environment")
        assert tuple(rank["device"]["uuid"] for rank in environment["ranks"]) == expected


@one_library
def test_a_rank_of_host_memory_holds_the_device_that_it_is_given_or_none(launcher: Any) -> None:
    words = ("latency", "--buffers", "H,D", "--sizes", "8", "--slot-ms", "1")
    for devices, expected in (("-,0", None), ("1,0", UUIDS[1]), ("0,0", UUIDS[0])):
        # A rank that is to hold none does not as much as load the driver.
        faulty = "cuInit:999" if devices == "-,0" else REACHABLE
        done = launcher.run(*words, "--devices", devices, fake=faulty, rank_1=REACHABLE)
        assert done.code == 0, done.err
        host, gpu = done.of("environment")[0]["ranks"]
        assert (host["device"] and host["device"]["uuid"]) == expected
        assert gpu["device"]["uuid"] == UUIDS[0]


@one_library
def test_a_library_that_does_not_know_devices_crashes_on_them(launcher: Any) -> None:
    done = launcher.run("latency", "--buffers", "D,D", *QUICK)
    assert done.code not in (0, 1, 2, 3)
    assert len(done.of("environment")) == 1
    assert done.of("samples") == []


@one_library
def test_a_wrong_byte_on_a_device_is_found(launcher: Any) -> None:
    done = launcher.run(
        "latency", "--buffers", "D,D", *QUICK, fake=REACHABLE, rank_1="reachable=1,corrupt=1"
    )
    assert done.code == 3, done.err
    wrong = [(case["size_bytes"], case["status"]) for case in done.of("problem")]
    assert wrong == [(size, "wrong data") for size in SIZES]


@one_library
def test_a_size_that_no_device_has_memory_for_is_skipped(launcher: Any) -> None:
    words = ("--buffers", "H,D", "--sizes", "8,1G,64", "--slot-ms", "1")
    done = launcher.run("latency", *words, fake=REACHABLE)
    assert done.code == 0, done.err
    assert [case["size_bytes"] for case in done.of("samples")] == [8, 64]
    [skipped] = done.of("problem")
    assert (skipped["size_bytes"], skipped["status"]) == (1 << 30, "skipped")
    assert "are 2048 MiB, and it has 1024 MiB" in skipped["message"]  # one to send, one to receive
    assert skipped["buffers"] == "H,D"


@one_library
def test_ranks_whose_devices_are_not_those_meant_are_refused(launcher: Any) -> None:
    words = ("latency", "--buffers", "D,D", "--sizes", "8", "--slot-ms", "1")
    mixed = "reachable=1,reversed=1"
    done = launcher.run(*words, "--devices", "0,1", fake=REACHABLE, rank_1=mixed)
    assert done.code == 2
    [line] = done.lines()
    assert line.startswith("nearpeak-mpi: two ranks share a device that asked for two: rank 0 on ")
    assert f"asked for 0 and has {UUIDS[0]}, rank 1 on " in line
    assert f"asked for 1 and has {UUIDS[0]}: give UUIDs in --devices" in line

    done = launcher.run(*words, "--devices", "0", fake=REACHABLE, rank_1=mixed)
    assert done.code == 2
    [line] = done.lines()
    assert "two ranks have two devices that asked for one: rank 0 on " in line

    done = launcher.run(*words, fake=REACHABLE, rank_1=mixed)
    assert done.code == 2
    [line] = done.lines()
    assert "two ranks share a device that asked for two: rank 0 on " in line
    assert f"asked for 1 by its place and has {UUIDS[0]}" in line

    # UUIDs mean the same everywhere.
    done = launcher.run(*words, "--devices", ",".join(UUIDS), fake=REACHABLE, rank_1=mixed)
    assert done.code == 0, done.err


def test_ranks_of_one_device_each_may_have_it_by_their_place(launcher: Any) -> None:
    """As under `srun --gpus-per-task=1`; and where a host has but one, they share it."""
    words = ("latency", "--buffers", "D,D", "--sizes", "8", "--slot-ms", "1")
    single = "reachable=1,devices=1"
    for other in (single, f"{single},reversed=1"):
        done = launcher.run(*words, fake=single, rank_1=other)
        assert done.code == 0, done.err


@one_library
def test_ranks_that_share_a_device_while_another_is_free_are_refused(launcher: Any) -> None:
    """As where a launcher inside a job passes on one local rank to all."""
    words = ("latency", "--buffers", "D,D", "--sizes", "8", "--slot-ms", "1")
    wrong = {"OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    done = launcher.run(*words, fake=REACHABLE, env=wrong)
    assert done.code == 2
    [line] = done.lines()
    assert line.startswith("nearpeak-mpi: more ranks share a device than need to: rank 0 on ")
    assert f"asked for 0 by its place and has {UUIDS[0]}, of 2 devices" in line
    assert "PMI_LOCAL_RANK" in line
    # Named, they are what was meant; and of one device there is nothing to choose.
    for more in (("--devices", "0"), ("--devices", "0,1")):
        assert launcher.run(*words, *more, fake=REACHABLE, env=wrong).code == 0
    assert launcher.run(*words, fake="reachable=1,devices=1", env=wrong).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        # Of which one rank alone knows, and of which all do.
        (
            ("--buffers", "D,P", "--devices", "0,-"),
            "rank 1: buffers other than H need a device, and --devices gives this rank none",
        ),
        (("--buffers", "D,X"), "unknown kind of buffer 'X'"),
    ],
)
def test_what_cannot_be_had_is_one_line_and_status_2(
    launcher: Any, words: tuple[str, ...], said: str
) -> None:
    done = launcher.run("latency", *words, "--sizes", "8")
    assert done.code == 2
    [line] = done.lines()
    assert line.startswith(f"nearpeak-mpi: {said}")
    assert done.records == []


@one_library
@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (
            ("--buffers", "D,D", "--devices", "0,GPU-1234"),
            {"CUDA_VISIBLE_DEVICES": "1,0"},
            "rank 1: there is no device 'GPU-1234': give the index or the UUID of one of "
            f"0 ({UUIDS[0]}), 1 ({UUIDS[1]}); CUDA_VISIBLE_DEVICES is '1,0'",
        ),
        (
            ("--buffers", "D,D", "--devices", "7"),
            {},
            "there is no device '7': give the index or the UUID of one of "
            f"0 ({UUIDS[0]}), 1 ({UUIDS[1]})",
        ),
        (
            ("--buffers", "D,H"),
            {"NEARPEAK_CUDA_LIBRARY": "/nowhere/libcuda.so"},
            "rank 0: buffers other than H need a device, and cuda has none: /nowhere/libcuda.so ",
        ),
        (
            ("--buffers", "D,D,D"),
            {},
            "--buffers D,D,D does not fit 2 ranks: give one letter for all",
        ),
        (("--devices", "0,1,0"), {}, "--devices names 3 devices for 2 ranks: give one for each"),
    ],
)
def test_devices_that_cannot_be_had_are_told(
    launcher: Any, words: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    done = launcher.run("latency", *words, "--sizes", "8", env=variables)
    assert done.code == 2
    [line] = done.lines()
    assert line.startswith(f"nearpeak-mpi: {said}")
    assert done.records == []


@one_library
def test_a_backend_that_is_unknown_is_told_without_ranks(launcher: Any) -> None:
    told = launcher.ask("--check", "latency", "--devices", "abacus:0")
    assert told.returncode == 2
    [line] = told.stderr.splitlines()
    said = "unknown backend 'abacus' in --devices: give one of "
    assert line.startswith(f"nearpeak-mpi: {said}")


def test_a_device_that_only_one_rank_cannot_take_lets_nobody_wait(launcher: Any) -> None:
    words = ("latency", "--buffers", "D,D", "--sizes", "8")
    done = launcher.run(*words, rank_1="cuDevicePrimaryCtxRetain:46")
    assert done.code == 1
    [line] = done.lines()
    assert line.startswith("nearpeak-mpi: rank 1: cuDevicePrimaryCtxRetain on GPU 1: ")


def test_a_device_that_fails_in_a_case_ends_the_launch(launcher: Any) -> None:
    words = ("bw", "--buffers", "H,D", "--staging", "pinned", "--sizes", "8", "--slot-ms", "1")
    done = launcher.run(*words, rank_1="cuMemcpyAsync:700:40")
    assert done.code == 1
    [line] = done.lines()
    assert line.startswith("nearpeak-mpi: rank 1: cuMemcpyAsync(8 B) on GPU 1: CUDA_ERROR_ILLEGAL")
    assert done.of("samples") == []
