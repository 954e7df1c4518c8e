# SPDX-License-Identifier: Apache-2.0
"""Messages between ranks, in every way to call MPI, and what goes wrong in them."""

from pathlib import Path
from typing import Any

import pytest
from mpi_launches import every_library, one_library, with_options

WINDOWS = ["bw", "bibw", "mbw_mr", "bw_fan_in", "bw_fan_out"]
CALLED = ["latency", "multi_lat", *WINDOWS]  # with the axis `calls`
ON_TWO = [*CALLED, "partitioned_latency"]
FEW = ("--least-samples", "3", "--window", "5")
QUICK = (*FEW, "--slot-ms", "0.1")
EVERY_BUFFER = (*FEW, "--slot-ms", "1")  # which takes turns
SMALL = ("--sizes", "1004", *QUICK)


# What those of many ranks have besides the time of a message.
RATES = {
    "mbw_mr": (("mbw", "GB/s"), ("mr", "M/s")),
    "bw_fan_in": (("bw_fan_in", "GB/s"), ("mr_fan_in", "M/s")),
    "bw_fan_out": (("bw_fan_out", "GB/s"), ("mr_fan_out", "M/s")),
}


@every_library
@pytest.mark.parametrize(
    ("ranks", "names"),
    [
        (3, ["bw_fan_in", "bw_fan_out"]),
        (4, ["multi_lat", "mbw_mr", "bw_fan_in", "bw_fan_out"]),
    ],
)
def test_many_ranks_have_a_bandwidth_and_a_rate(
    launcher: Any, ranks: int, names: list[str]
) -> None:
    """Of the windows of all pairs, or of all partners."""
    done = launcher.run(*names, *SMALL, ranks=ranks)
    assert done.measured() == set(names)
    for name in names:
        cases = [case for case in done.of("samples") if case["benchmark"] == name]
        metrics = tuple((case["metric"], case["unit"]) for case in cases)
        assert metrics == RATES.get(name, ((name, "us"),))
        if name in RATES:
            bandwidth, rate = (case["samples"][0] for case in cases)
            assert bandwidth == pytest.approx(rate * 1004 / 1000, rel=1e-5), name


@every_library
def test_every_way_to_call_mpi(launcher: Any) -> None:
    ways = ["blocking", "nonblocking", "persistent"]
    assert sorted(launcher.axis("bw", "calls")) == ways
    sizes = ("--sizes", "0,8,1004,70000")
    lines = [[*with_options(CALLED, "--calls", calls), *sizes] for calls in ways]
    one_way = [["latency", "--calls", calls, "--direction", "0to1", *sizes] for calls in ways]
    in_parts = ["partitioned_latency", "--sizes", "1004"]
    *parts, last = launcher.run_each([*lines, *one_way, in_parts], *QUICK)
    assert last.measured() == {"partitioned_latency"}
    expected = [*((calls, CALLED) for calls in ways), *((calls, ["latency"]) for calls in ways)]
    for done, (calls, names) in zip(parts, expected, strict=True):
        assert done.measured() == set(names), calls
        assert {record["axes"]["calls"] for record in done.of("samples")} == {calls}


@every_library
def test_every_kind_of_buffers(launcher: Any) -> None:
    """Those that are written before and those that are on devices."""
    persistent = [*with_options(CALLED, "--calls", "persistent"), "partitioned_latency"]
    lines = [
        *(
            [*persistent, "--sizes", "70000", "--reuse", reuse, "--touch", "sender", *EVERY_BUFFER]
            for reuse in ("single", "rotating")
        ),
        *([*names, "--buffers", "D,H", *SMALL] for names in (ON_TWO, persistent)),
    ]
    for line, done in zip(lines, launcher.run_each(lines, fake="reachable=1"), strict=True):
        assert done.measured() == set(ON_TWO), line


@one_library
def test_messages_in_parts(launcher: Any) -> None:
    numbers = ("2", "64")
    lines = [("partitioned_latency", "--partitions", partitions) for partitions in numbers]
    parts = launcher.run_each(lines, "--sizes", "1,640,64000", *QUICK)
    for partitions, done in zip(numbers, parts, strict=True):
        assert [case["size_bytes"] for case in done.of("samples")] == [640, 64000], partitions
        [skipped] = done.of("problem")
        said = f"partitions are of equal size: sizes are multiples of {partitions}"
        assert (skipped["status"], skipped["message"]) == ("skipped", said)


@every_library
def test_messages_of_several_threads(launcher: Any) -> None:
    host = ("--sizes", "0,8,1004")
    lines = [
        *(("latency_mt", "--threads", threads, *host) for threads in ("1", "2", "4")),
        ("latency_mt", "--threads", "2", "--sizes", "1004", "--buffers", "D,H"),
    ]
    for line, done in zip(lines, launcher.run_each(lines, *QUICK, fake="reachable=1"), strict=True):
        assert done.measured() == {"latency_mt"}, line
        for case in done.of("samples"):
            assert all(value > 0 for value in case["samples"]), line
            # Of 100 us, which the sampler keeps to, half at least: round trips alone.
            halves = case["samples"]
            assert 2 * case["batch"] * sum(halves) / len(halves) > 45, line


@one_library
def test_threads_are_not_asked_for_where_others_are_measured(launcher: Any) -> None:
    told = launcher.ask("--check", "latency", "latency_mt")
    assert told.returncode == 2
    [line] = told.stderr.splitlines()
    assert line.startswith("nearpeak-mpi: latency needs MPI as it is begun for one thread")


@one_library
def test_persistent_requests_do_not_go_with_staging(launcher: Any) -> None:
    words = ("--calls", "persistent", "--staging", "pinned", "--buffers", "D")
    done = launcher.run("bw", *words, *SMALL, fake="reachable=1")
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert "persistent requests do not go with --staging" in skipped["message"]


@one_library
def test_a_library_that_grants_no_threads_is_a_reason(launcher: Any, faulty: Path) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "serialized"}
    done = launcher.run("latency_mt", "--threads", "2", *SMALL, env=env)
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert skipped["message"].startswith("the library grants MPI_THREAD_SERIALIZED, and several")


@one_library
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


@one_library
def test_the_first_use_of_threads_is_one_round_trip(launcher: Any, faulty: Path) -> None:
    """Of three trips it was the time; others take as long as it."""
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "slow"}
    words = ("latency_mt", "--threads", "2", "--no-verify", *SMALL)
    done = launcher.run(*words, env=env, gives_way=True)
    assert done.measured() == {"latency_mt"}
    [case] = done.of("samples")
    assert case["first_use_us"] < 2 * 2 * min(case["samples"])


@one_library
def test_the_first_use_of_many_pairs_is_one_round_trip_or_window(
    launcher: Any, faulty: Path
) -> None:
    """Each of two sends; an iteration has four round trips, or windows."""
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "slow"}
    few = ("--least-samples", "3", "--window", "1", "--slot-ms", "0.1")
    words = ("--calls", "blocking", "--no-verify", "--sizes", "4M", *few)
    done = launcher.run("multi_lat", *words, env=env, gives_way=True)
    assert done.measured() == {"multi_lat"}
    [case] = done.of("samples")
    assert 100e3 <= case["first_use_us"] < 200e3
    done = launcher.run("mbw_mr", *words, env=env, gives_way=True)
    assert done.measured() == {"mbw_mr"}
    assert all(100e3 <= case["first_use_us"] < 200e3 for case in done.of("samples"))


# With each the size of messages that have it.
FAULTS = {"dropped": 1004, "misplaced": 1008, "gap": 1012, "late": 1016, "swapped": 1020}
RIGHT = 2000


def lines_of_messages(calls: str) -> dict[tuple[str, ...], list[str]]:
    """Benchmarks whose rank 1 receives, with their faults: it swaps messages of a window that it
    waits for together."""
    windows = ("bw", "bibw", "mbw_mr", "bw_fan_out")
    others = [fault for fault in FAULTS if fault != "swapped"]
    together = others if calls == "blocking" else [*FAULTS]
    return {
        tuple(with_options(["latency", "multi_lat"], "--calls", calls)): others,
        tuple(with_options(windows, "--calls", calls)): together,
    }


@one_library
@pytest.mark.parametrize(
    ("rank", "lines"),
    [
        (
            1,
            {
                **lines_of_messages("blocking"),
                **lines_of_messages("nonblocking"),
                **lines_of_messages("persistent"),
                ("partitioned_latency",): ["dropped", "misplaced", "gap", "late"],
            },
        ),
        (0, {("bw_fan_in",): [*FAULTS]}),
        (1, {("latency_mt", "--threads", "2"): ["dropped", "misplaced", "gap", "late"]}),
    ],
    ids=["messages", "fan-in", "threads"],
)
def test_a_faulty_library_is_caught(
    launcher: Any, faulty: Path, rank: int, lines: dict[tuple[str, ...], list[str]]
) -> None:
    env = {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": ",".join(FAULTS),
        "NEARPEAK_FAULTY_BYTES": ",".join(map(str, FAULTS.values())),
        "NEARPEAK_FAULTY_RANK": str(rank),
    }
    sizes = [[FAULTS[fault] for fault in faults] for faults in lines.values()]
    words = [
        (*line, "--sizes", ",".join(map(str, [*wrong, RIGHT])))
        for line, wrong in zip(lines, sizes, strict=True)
    ]
    parts = launcher.run_each(words, *QUICK, code=3, env=env)
    for line, wrong, done in zip(lines, sizes, parts, strict=True):
        names = [word for word in line if word in (*ON_TWO, "latency_mt")]
        found = [
            (problem["benchmark"], problem["size_bytes"], problem["rank"])
            for problem in done.of("problem")
        ]
        assert found == [(name, size, rank) for name in names for size in wrong], line
        # What is right is still measured.
        right = {(record["benchmark"], record["size_bytes"]) for record in done.of("samples")}
        assert right == {(name, RIGHT) for name in names}, line
