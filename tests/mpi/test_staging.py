# SPDX-License-Identifier: Apache-2.0
"""The axis `staging`, with libraries that crash when they are given a device buffer."""

from typing import Any

import pytest
from mpi_launches import measured_with

SIZES = (1, 65537, 1_200_001)  # the last is three chunks, and not whole ones
QUICK = ("--sizes", ",".join(map(str, SIZES)), "--slot-ms", "0.1", "--in-flight", "4M")
STAGINGS = ("pageable", "pinned", "pipelined")


# Of each way, on one library: who moves the data is the program.
@measured_with("openmpi")
@pytest.mark.parametrize(
    "words",
    [
        ("latency", "--buffers", "D,D"),
        ("latency", "--buffers", "H,D", "--calls", "nonblocking", "--direction", "0to1"),
        ("bw", "--buffers", "D,P"),
        ("bw", "--buffers", "H,D", "--calls", "blocking"),
        ("bibw", "--buffers", "D,M"),
        ("bibw", "--buffers", "P,D", "--calls", "blocking"),
    ],
    ids=" ".join,
)
def test_data_is_moved_by_the_program_itself(launcher: Any, words: tuple[str, ...]) -> None:
    first, *others = [(*words, "--staging", staging, *QUICK) for staging in STAGINGS]
    done = launcher.run(*first, *(word for line in others for word in ("+", *line)))
    assert done.code == 0, done.err
    told = [(case["axes"]["staging"], case["size_bytes"]) for case in done.of("samples")]
    assert told == [(staging, size) for staging in STAGINGS for size in SIZES]


def test_many_buffers_in_turn_are_staged_too(launcher: Any) -> None:
    # Many of few bytes: the fake devices have no memory for as much as large caches hold.
    words = ("--buffers", "D,H", "--reuse", "rotating", "--sizes", "8", "--slot-ms", "1")
    done = launcher.run("latency", *words, "--staging", "pinned")
    assert done.code == 0, done.err
    assert [case["axes"]["reuse"] for case in done.of("samples")] == ["rotating"]


@pytest.mark.parametrize("staging", STAGINGS)
def test_a_wrong_byte_in_a_copy_is_found(launcher: Any, staging: str) -> None:
    words = ("bw", "--buffers", "D,D", "--staging", staging, *QUICK)
    done = launcher.run(*words, rank_1="corrupt=1")
    assert done.code == 3, done.err
    wrong = [(case["rank"], case["byte"]) for case in done.of("problem")]
    # A pipeline copies chunk by chunk, and the last byte of each is wrong.
    first = [min(size, 512 << 10) if staging == "pipelined" else size for size in SIZES]
    assert wrong == [(1, end - 1) for end in first]


def test_an_empty_message_is_one_too(launcher: Any) -> None:
    for staging in STAGINGS:
        words = ("--buffers", "D,D", "--staging", staging, "--sizes", "0", "--slot-ms", "1")
        done = launcher.run("latency", *words)
        assert done.code == 0, done.err
        assert len(done.of("samples")) == 1


def test_staging_without_a_device_is_bad_input(launcher: Any) -> None:
    done = launcher.run("latency", "--buffers", "H,P", "--staging", "pinned", "--sizes", "8")
    assert done.code == 2
    [line] = done.lines()
    assert "--staging pinned copies to and from devices, and --buffers H,P has none" in line


@pytest.mark.parametrize(
    "words",
    [
        ("latency", "--buffers", "D,D", "--staging", "pageable"),
        ("bw", "--buffers", "H,D", "--staging", "pinned"),
        ("bibw", "--buffers", "D,D", "--staging", "pipelined"),
        ("latency", "--buffers", "M,M"),
    ],
    ids=" ".join,
)
def test_opencl_devices_are_staged_for_real(
    launcher: Any, opencl: str, words: tuple[str, ...]
) -> None:
    done = launcher.run(*words, "--devices", opencl, *QUICK)
    assert done.code == 0, done.err
    assert [case["size_bytes"] for case in done.of("samples")] == list(SIZES)
    assert not done.of("problem")


def test_opencl_has_no_addresses_for_mpi(launcher: Any, opencl: str) -> None:
    done = launcher.run("latency", "--buffers", "D,D", "--devices", opencl, *QUICK)
    assert done.code == 2
    [line] = done.lines()
    assert "has no addresses of device memory that MPI could be given: add --staging" in line
