# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of any number of ranks, and what is asked of their number."""

import os
from typing import Any

import pytest

TRIES = 100  # a busy machine may keep one of two ranks waiting
QUICK = ("--sizes", "8,1000,65536", "--slot-ms", "1")


# Where ranks share CPUs they wait long for each other: one type each.
@pytest.mark.parametrize(
    ("ranks", "kind"), [(2, "float"), (2, "int"), (2, "double"), (3, "int"), (4, "double")]
)
def test_sums_of_every_type_are_right_on_any_number_of_ranks(
    launcher: Any, ranks: int, kind: str
) -> None:
    done = launcher.run("allreduce", "--type", kind, "--keep-ranks", *QUICK, ranks=ranks)
    assert done.code == 0, done.err
    assert [case["size_bytes"] for case in done.of("samples")] == [8, 1000, 65536]
    for case in done.of("samples"):
        assert len(case["ranks"]) == ranks
        # A sample is the mean of the longest times of its iterations; of a rank it is the mean of
        # its own. Seven digits are recorded.
        for longest, times in zip(case["samples"], zip(*case["ranks"], strict=True), strict=True):
            assert max(times) * (1 - 1e-6) <= longest <= sum(times) * (1 + 1e-6)


def test_records_tell_how_far_the_cpus_are_from_each_other(launcher: Any) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU to run on")
    for _ in range(TRIES):
        done = launcher.run("latency", "--sizes", "8,64", "--slot-ms", "1")
        assert done.code == 0, done.err
        found = [case["cache_line_ns"] for case in done.of("samples")]
        assert [len(times) for times in found] == [1, 1]
        if any(times != [None] for times in found):
            break
    assert all(times == [None] or times[0] > 0 for times in found)
    assert any(times != [None] for times in found), f"none in {TRIES} launches"


def test_a_size_that_is_no_multiple_of_the_type_is_skipped(launcher: Any) -> None:
    done = launcher.run("allreduce", "--type", "double", "--sizes", "12,16", "--slot-ms", "1")
    assert done.code == 0, done.err
    assert [case["size_bytes"] for case in done.of("samples")] == [16]
    [skipped] = done.of("problem")
    assert skipped["message"] == "double has 8 bytes: sizes are multiples of that"


def test_a_wrong_sum_is_found(launcher: Any) -> None:
    words = ("--buffers", "H,D", *QUICK)
    done = launcher.run("allreduce", *words, fake="reachable=1", rank_1="reachable=1,corrupt=1")
    assert done.code == 3, done.err
    assert {case["status"] for case in done.of("problem")} == {"wrong data"}


def test_pairs_of_ranks_give_a_bandwidth_and_a_rate(launcher: Any) -> None:
    done = launcher.run("mbw_mr", "--window", "5", "--least-samples", "3", *QUICK, ranks=4)
    assert done.code == 0, done.err
    metrics = [(case["metric"], case["unit"], case["size_bytes"]) for case in done.of("samples")]
    expected = [
        (metric, unit, size)
        for size in (8, 1000, 65536)
        for metric, unit in (("mbw", "GB/s"), ("mr", "M/s"))
    ]
    assert metrics == expected
    rate = {
        (record["metric"], record["size_bytes"]): record["samples"][0]
        for record in done.of("samples")
    }
    # A million messages of 1000 bytes are one gigabyte.
    assert rate["mbw", 1000] == pytest.approx(rate["mr", 1000], rel=1e-5)


@pytest.mark.parametrize(
    ("words", "ranks", "said"),
    [
        (("latency",), 3, "latency runs on 2 ranks, not on 3: start it with mpirun -n 2"),
        (("mbw_mr",), 3, "mbw_mr runs on an even number of ranks, at least 2, not on 3: start it"),
        (("allreduce", "--buffers", "H,P"), 3, "--buffers H,P does not fit 3 ranks: give one"),
        (("latency", "--touch", "sender", "--buffers", "D"), 2, "--touch sender writes with the"),
        (("allreduce", "--sizes", "1"), 2, "allreduce needs sizes of at least 4 B"),
        (("jacobi2d", "--solve", "1", "--most", "0"), 2, "--most: 0 is no whole number from 1"),
        (("jacobi2d", "--solve", "1", "--most", "abc"), 2, "--most: abc is no whole number from 1"),
        (("cosmo", "--sizes", "2"), 2, "cosmo needs sizes of at least 3 cells, and at most 1K"),
        (("latency", "--slot-ms", "nan"), 2, "--slot-ms: nan is not a number"),
    ],
)
def test_ranks_that_do_not_fit_are_one_line_and_status_2(
    launcher: Any, words: tuple[str, ...], ranks: int, said: str
) -> None:
    done = launcher.run(*words, fake="reachable=1", ranks=ranks)
    assert done.code == 2
    [line] = done.lines()
    assert line.startswith(f"nearpeak-mpi: {said}")
    assert done.records == []


def test_one_way_messages_go_through_every_rotating_buffer(launcher: Any) -> None:
    # An even number of buffers, whatever the caches: empty messages between must take none.
    words = ("--reuse", "rotating", "--sizes", "1000000,3M,16M,64M", "--slot-ms", "20")
    done = launcher.run("latency", "--direction", "0to1", *words)
    assert done.code == 0, done.err
    assert [case["size_bytes"] for case in done.of("samples")] == [
        1000000,
        3 << 20,
        16 << 20,
        64 << 20,
    ]


def test_what_is_sent_may_be_written_before(launcher: Any) -> None:
    words = ("--touch", "sender", "--reuse", "single", *QUICK)
    done = launcher.run("latency", "--direction", "0to1", *words, "bw", "bibw")
    assert done.code == 0, done.err
    cases = done.of("samples")
    assert {(case["axes"]["touch"], case["axes"]["reuse"]) for case in cases} == {
        ("sender", "single")
    }
    # What one way takes is the difference of its phases, which others' work may turn round.
    parts = [case["phases"] for case in cases if case["benchmark"] == "latency"]
    rates = [case["samples"] for case in cases if case["benchmark"] != "latency"]
    assert all(list(phases) == ["payload", "empty"] for phases in parts)
    assert all(value > 0 for phases in parts for times in phases.values() for value in times)
    assert all(value > 0 for samples in rates for value in samples)


def test_benchmarks_are_measured_in_the_order_of_the_command_line(launcher: Any) -> None:
    names = ["mbw_mr", "latency", "allreduce", "bw"]
    done = launcher.run(*names, "--sizes", "8", "--slot-ms", "1")
    assert done.code == 0, done.err
    assert list(dict.fromkeys(case["benchmark"] for case in done.of("samples"))) == names
