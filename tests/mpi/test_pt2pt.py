# SPDX-License-Identifier: Apache-2.0
"""Messages between ranks, in every way to call MPI, and what goes wrong in them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WINDOWS = ["bw", "bibw", "mbw_mr", "bw_fan_in", "bw_fan_out"]
CALLED = ["latency", "multi_lat", *WINDOWS]  # with the axis `calls`
ON_TWO = [*CALLED, "partitioned_latency"]
QUICK = ("--slot-ms", "1", "--least-samples", "3", "--window", "5")
SMALL = ("--sizes", "1004", *QUICK)


EVERY = pytest.mark.parametrize("measured_library", ["openmpi", "mpich", "intel"], indirect=True)
# What is not about the library.
ONE = pytest.mark.parametrize("measured_library", ["mpich"], indirect=True)


def options(names: list[str], *words: str) -> Iterator[str]:
    """Each benchmark with these options of its own."""
    for name in names:
        yield from (name, *words)


@EVERY
@pytest.mark.parametrize(
    ("ranks", "names"),
    [
        (2, ON_TWO),
        (3, ["bw_fan_in", "bw_fan_out"]),
        (4, ["multi_lat", "mbw_mr", "bw_fan_in", "bw_fan_out"]),
    ],
)
def test_every_benchmark_is_verified(launcher: Any, ranks: int, names: list[str]) -> None:
    assert launcher.run(*names, *SMALL, ranks=ranks).measured() == set(names)


@EVERY
@pytest.mark.parametrize("calls", ["blocking", "nonblocking", "persistent"])
def test_every_way_to_call_mpi(launcher: Any, calls: str) -> None:
    words = ("--sizes", "0,8,1004,100000", *QUICK)
    done = launcher.run(*options(CALLED, "--calls", calls), *words)
    assert done.measured() == set(CALLED)
    assert {record["axes"]["calls"] for record in done.of("samples")} == {calls}
    one_way = ("--calls", calls, "--direction", "0to1")
    assert launcher.run("latency", *one_way, *words).measured() == {"latency"}


@EVERY
@pytest.mark.parametrize("reuse", ["single", "rotating"])
def test_buffers_that_are_written_before(launcher: Any, reuse: str) -> None:
    words = ("--sizes", "100000", "--reuse", reuse, "--touch", "sender", *QUICK)
    done = launcher.run(*options(CALLED, "--calls", "persistent"), *words)
    assert done.measured() == set(CALLED)
    assert launcher.run("partitioned_latency", *words).measured() == {"partitioned_latency"}


@EVERY
def test_buffers_that_are_on_devices(launcher: Any) -> None:
    words = ("--buffers", "D,H", *SMALL)
    done = launcher.run(*ON_TWO, *words, fake="reachable=1")
    assert done.measured() == set(ON_TWO)
    persistent = options(CALLED, "--calls", "persistent")
    done = launcher.run(*persistent, *words, fake="reachable=1")
    assert done.measured() == set(CALLED)
    threads = ("--threads", "2", *words)
    done = launcher.run("latency_mt", *threads, fake="reachable=1")
    assert done.measured() == {"latency_mt"}


@ONE
def test_a_fan_moves_the_windows_of_all_partners(launcher: Any) -> None:
    done = launcher.run("bw_fan_in", "bw_fan_out", *SMALL, ranks=3)
    metrics = [(case["metric"], case["unit"]) for case in done.of("samples")]
    assert metrics == [
        *(("bw_fan_in", "GB/s"), ("mr_fan_in", "M/s")),
        *(("bw_fan_out", "GB/s"), ("mr_fan_out", "M/s")),
    ]
    bandwidth, rate = (case["samples"][0] for case in done.of("samples")[:2])
    assert bandwidth == pytest.approx(rate * 1004 / 1000, rel=1e-5)


@ONE
@pytest.mark.parametrize("partitions", ["2", "64"])
def test_messages_in_parts(launcher: Any, partitions: str) -> None:
    words = ("--partitions", partitions, "--sizes", "1,640,64000", *QUICK)
    done = launcher.run("partitioned_latency", *words)
    assert done.code == 0, done.err
    assert [case["size_bytes"] for case in done.of("samples")] == [640, 64000]
    [skipped] = done.of("problem")
    said = f"partitions are of equal size: sizes are multiples of {partitions}"
    assert (skipped["status"], skipped["message"]) == ("skipped", said)


@EVERY
@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_messages_of_several_threads(launcher: Any, threads: str) -> None:
    words = ("--threads", threads, "--sizes", "0,8,1004", *QUICK)
    done = launcher.run("latency_mt", *words)
    assert done.measured() == {"latency_mt"}
    for case in done.of("samples"):
        assert all(value > 0 for value in case["samples"])
        # Of 100 us, which the sampler keeps to, half at least: round trips alone.
        halves = case["samples"]
        assert 2 * case["batch"] * sum(halves) / len(halves) > 45


@ONE
def test_threads_are_not_asked_for_where_others_are_measured(launcher: Any) -> None:
    done = launcher.run("latency", "latency_mt", *SMALL)
    assert done.code == 2
    [line] = done.lines()
    assert line.startswith("nearpeak-mpi: latency needs MPI as it is begun for one thread")


@ONE
def test_persistent_requests_do_not_go_with_staging(launcher: Any) -> None:
    words = ("--calls", "persistent", "--staging", "pinned", "--buffers", "D")
    done = launcher.run("bw", *words, *SMALL, fake="reachable=1")
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert "persistent requests do not go with --staging" in skipped["message"]


@ONE
def test_a_library_that_grants_no_threads_is_a_reason(launcher: Any, faulty: Path) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "serialized"}
    done = launcher.run("latency_mt", "--threads", "2", *SMALL, env=env)
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert skipped["message"].startswith("the library grants MPI_THREAD_SERIALIZED, and several")


@ONE
def test_communicators_are_freed_together_where_one_rank_is_out_of_memory(
    launcher: Any, faulty: Path
) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "waiting"}
    words = ("latency_mt", "--threads", "2", "--buffers", "D", *SMALL)
    full = "reachable=1,cuMemAlloc_v2:2"
    done = launcher.run(*words, fake="reachable=1", rank_1=full, env=env)
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert skipped["message"].startswith("rank 1: ")
    assert "out of memory" in skipped["message"]


@ONE
def test_the_first_use_of_threads_is_one_round_trip(launcher: Any, faulty: Path) -> None:
    """Of three trips it was the time; others take as long as it."""
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "slow"}
    done = launcher.run("latency_mt", "--threads", "2", *SMALL, env=env)
    assert done.measured() == {"latency_mt"}
    [case] = done.of("samples")
    assert case["first_use_us"] < 2 * 2 * min(case["samples"])


# The benchmarks, their options, and the rank that receives.
LAUNCHES = [
    *(
        ([*options(["latency", "multi_lat", *WINDOWS[:3], "bw_fan_out"], "--calls", calls)], 1)
        for calls in ("blocking", "nonblocking", "persistent")
    ),
    (["bw_fan_in"], 0),
    (["partitioned_latency"], 1),
    (["latency_mt", "--threads", "2"], 1),
]


@ONE
@pytest.mark.parametrize(
    ("words", "rank", "fault"),
    [
        (words, rank, fault)
        for words, rank in LAUNCHES
        for fault in ("dropped", "misplaced", "gap", "late", "swapped")
        if fault != "swapped" or (set(WINDOWS).intersection(words) and "blocking" not in words)
    ],
)
def test_a_faulty_library_is_caught(
    launcher: Any, faulty: Path, words: list[str], rank: int, fault: str
) -> None:
    names = [word for word in words if word in (*ON_TWO, "latency_mt")]
    if fault == "swapped":  # of a window of messages
        names = [name for name in names if name in WINDOWS]
        words = [*options(names, *words[1:3])]
    env = {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": "1004",
        "NEARPEAK_FAULTY_RANK": str(rank),
    }
    done = launcher.run(*words, "--sizes", "1004,2000", *QUICK, env=env)
    assert done.code == 3, (done.out, done.err)
    wrong = [
        (problem["benchmark"], problem["size_bytes"], problem["rank"])
        for problem in done.of("problem")
    ]
    assert wrong == [(name, 1004, rank) for name in names]
    # What is right is still measured.
    right = {(record["benchmark"], record["size_bytes"]) for record in done.of("samples")}
    assert right == {(name, 2000) for name in names}
