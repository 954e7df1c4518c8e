# SPDX-License-Identifier: Apache-2.0
"""Messages that wait for a stream of the device, and those that are given to it."""

from pathlib import Path
from typing import Any

import pytest
from mpi_launches import one_library

QUICK = ("--buffers", "D", "--sizes", "1004", "--slot-ms", "0.1", "--least-samples", "3")
NAME = "stream_latency"
# The library has them; without CUDA it says so.
pytestmark = one_library


@pytest.fixture
def run(launcher: Any, fake_nvrtc: Path, faulty: Path) -> Any:
    """Launches with devices; the library's messages of streams are those of faulty_stream.cpp."""

    def start(
        *words: str, fault: str = "none", preload: bool = True, given: str = "/dev/null"
    ) -> Any:
        env = {
            "NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc),
            "NEARPEAK_FAULT": fault,
            "NEARPEAK_GIVEN": given,
        }
        if preload:
            env["LD_PRELOAD"] = str(faulty)
        return launcher.run(NAME, *words, *QUICK, fake="reachable=1", env=env)

    return start


def test_a_message_that_waits_for_a_kernel_beside_one_that_does_not(run: Any) -> None:
    done = run("--reuse", "rotating", preload=False)
    assert done.measured() == {NAME}
    assert {record["metric"] for record in done.of("samples")} == {NAME, "alone"}
    assert {tuple(record["phases"]) for record in done.of("samples")} == {
        ("with work", "alone", "synchronise")
    }


def test_messages_that_are_given_to_the_stream(run: Any) -> None:
    done = run("--order", "enqueued", "--work", "none")
    assert done.measured() == {NAME}
    assert {tuple(record["phases"]) for record in done.of("samples")} == {("with work", "alone")}


def test_a_batch_of_round_trips_is_given_to_the_stream_before_it_is_waited_for(
    run: Any, tmp_path: Path
) -> None:
    batch = 32
    given = tmp_path / "given"
    done = run("--order", "enqueued", given=str(given))
    assert done.measured() == {NAME}
    message, alone = done.of("samples")
    assert int(given.read_text()) >= batch * message["iterations"]
    # Half of one round trip of a batch, as they are without the stream.
    for samples, phase in ((message, "with work"), (alone, "alone")):
        halves = [us / 2 for us in samples["phases"][phase]]
        assert samples["samples"] == pytest.approx(halves, rel=1e-3)


def test_a_library_without_them_says_why(run: Any) -> None:
    done = run("--order", "enqueued", preload=False)
    assert done.code == 0
    [problem] = done.of("problem")
    assert problem["status"] == "skipped"
    assert problem["message"] == "the library was built without cudaStream_t"


def test_what_a_stream_leaves_out_is_caught(run: Any) -> None:
    done = run("--order", "enqueued", fault="dropped")
    assert done.code == 3, done.err
    [problem] = done.of("problem")
    assert (problem["status"], problem["rank"]) == ("wrong data", 1)


@pytest.mark.parametrize("name", ["handoff", "handoff_allreduce"])
def test_kernels_with_messages_between_them(launcher: Any, fake_nvrtc: Path, name: str) -> None:
    words = (name, "--buffers", "D", "--sizes", "8,40K", *QUICK[4:])
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    done = launcher.run(*words, fake="reachable=1", env=env)
    assert done.measured() == {name}
    for record in done.of("samples"):  # by the clock of the device
        assert (record["verified"], record["operations"]) == (True, 20)
        assert record["phases"]["handoff"] == pytest.approx(record["samples"], abs=1e-3)


def test_kernels_hand_over_memory_of_a_device(launcher: Any) -> None:
    done = launcher.run("handoff", "--buffers", "H", "--sizes", "8", *QUICK[4:])
    [problem] = done.of("problem")
    assert problem["status"] == "skipped"
    assert problem["message"].startswith("kernels hand over memory of a device, and rank 0")
