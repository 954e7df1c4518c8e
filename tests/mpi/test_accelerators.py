# SPDX-License-Identifier: Apache-2.0
"""Backends beside CUDA's on real launches. What they share with it is in test_device_choice.py."""

import ctypes
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import one_library

pytestmark = one_library

SIZES = (1, 1000, 65537)
QUICK = ("--sizes", ",".join(map(str, SIZES)), "--slot-ms", "0.1", "--in-flight", "4M")


def sizes(done: Any) -> list[int]:
    assert done.code == 0, done.err
    assert not done.of("problem")
    return [case["size_bytes"] for case in done.of("samples")]


def test_a_machine_without_cuda_takes_hip(launcher: Any, fake_hip: Path) -> None:
    env = {
        "NEARPEAK_CUDA_LIBRARY": "/nowhere/libcuda.so",
        "NEARPEAK_HIP_LIBRARY": str(fake_hip),
        "NEARPEAK_HIPRTC_LIBRARY": str(fake_hip),
    }
    done = launcher.run("latency", "--buffers", "D,M", *QUICK, fake="reachable=1", env=env)
    assert sizes(done) == list(SIZES)
    [environment] = done.of("environment")
    took = [(rank["device"]["name"], rank["device"]["uuid"]) for rank in environment["ranks"]]
    assert took == [
        ("Fake AMD A", "GPU-fa4dc0a2fee6e4b0"),
        ("Fake AMD B", "GPU-fa4dc0a2fee6e4b1"),
    ]


@pytest.mark.parametrize("staging", [(), ("--staging", "pinned")], ids=["direct", "staged"])
def test_memory_of_openacc_is_moved(launcher: Any, staging: tuple[str, ...]) -> None:
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:
        pytest.skip("libgomp.so.1 is not here")
    words = ("bibw", "--buffers", "D,D", "--devices", "openacc:0", *staging, *QUICK)
    done = launcher.run(*words, env={"ACC_DEVICE_TYPE": "host"})
    assert sizes(done) == list(SIZES)
    [environment] = done.of("environment")
    names = {rank["device"]["name"] for rank in environment["ranks"]}
    assert names == {"the host as OpenACC's device"}
