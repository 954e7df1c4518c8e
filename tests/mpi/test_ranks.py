# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of any number of ranks, and what is asked of their number."""

import os
from typing import Any

import pytest
from mpi_launches import one_library

TRIES = 100  # a busy machine may keep one of two ranks waiting
QUICK = ("--sizes", "8,1000,65536", "--slot-ms", "0.1", "--least-samples", "3")


# Where ranks share CPUs they wait long for each other: one type each.
@pytest.mark.parametrize(
    ("ranks", "kinds"), [(2, ["float", "int", "double"]), (3, ["int"]), (4, ["double"])]
)
def test_sums_of_every_type_are_right_on_any_number_of_ranks(
    launcher: Any, ranks: int, kinds: list[str]
) -> None:
    lines = [("allreduce", "--type", kind, "--keep-ranks") for kind in kinds]
    parts = launcher.run_each(lines, *QUICK, ranks=ranks)
    for kind, done in zip(kinds, parts, strict=True):
        assert done.verified_sizes("allreduce") == [8, 1000, 65536], kind
        for case in done.of("samples"):
            assert len(case["ranks"]) == ranks
            each = zip(*case["ranks"], strict=True)
            # A sample is the mean of the longest times of its iterations; of a rank it is the mean
            # of its own. Seven digits are recorded.
            for longest, times in zip(case["samples"], each, strict=True):
                assert max(times) * (1 - 1e-6) <= longest <= sum(times) * (1 + 1e-6)


@one_library
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


@one_library
def test_a_size_that_is_no_multiple_of_the_type_is_skipped(launcher: Any) -> None:
    done = launcher.run("allreduce", "--type", "double", "--sizes", "12,16", "--slot-ms", "1")
    assert done.code == 0, done.err
    assert [case["size_bytes"] for case in done.of("samples")] == [16]
    [skipped] = done.of("problem")
    assert skipped["message"] == "double has 8 bytes: sizes are multiples of that"


@one_library
def test_a_wrong_sum_is_found(launcher: Any) -> None:
    words = ("--buffers", "H,D", *QUICK)
    done = launcher.run("allreduce", *words, fake="reachable=1", rank_1="reachable=1,corrupt=1")
    assert done.code == 3, done.err
    assert {case["status"] for case in done.of("problem")} == {"wrong data"}


@pytest.mark.parametrize(
    ("measured_library", "words", "said"),
    [
        ("openmpi", ("latency",), "latency runs on 2 ranks, not on 3: start it with mpirun -n 2"),
        ("mpich", ("latency",), "latency runs on 2 ranks, not on 3: start it with mpirun -n 2"),
        (
            "mpich",
            ("mbw_mr",),
            "mbw_mr runs on an even number of ranks, at least 2, not on 3: start it",
        ),
        (
            "mpich",
            ("allreduce", "--buffers", "H,P"),
            "--buffers H,P does not fit 3 ranks: give one",
        ),
    ],
    indirect=["measured_library"],
)
def test_ranks_that_do_not_fit_are_one_line_and_status_2(
    launcher: Any, words: tuple[str, ...], said: str
) -> None:
    done = launcher.run(*words, fake="reachable=1", ranks=3)
    assert done.code == 2
    [line] = done.lines()
    assert line.startswith(f"nearpeak-mpi: {said}")
    assert done.records == []


@one_library
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("latency", "--touch", "sender", "--buffers", "D"), "--touch sender writes with the"),
        (("allreduce", "--sizes", "1"), "allreduce needs sizes of at least 4 B"),
        (("jacobi2d", "--solve", "1", "--most", "0"), "--most: 0 is no whole number from 1"),
        (("jacobi2d", "--solve", "1", "--most", "abc"), "--most: abc is no whole number from 1"),
        (
            ("jacobi2d", "--reuse", "rotating"),
            "--reuse rotating is of messages, and jacobi2d is an application",
        ),
        (("latency", "--touch", "sender", "halo3d"), "--touch sender is of messages, and halo3d"),
        (("cosmo", "--sizes", "2"), "cosmo needs sizes of at least 3 cells, and at most 1K"),
        (("latency", "--slot-ms", "nan"), "--slot-ms: nan is not a number"),
    ],
)
def test_what_no_rank_can_do_is_told_without_any(
    launcher: Any, words: tuple[str, ...], said: str
) -> None:
    told = launcher.ask("--check", *words)
    assert told.returncode == 2
    [line] = told.stderr.splitlines()
    assert line.startswith(f"nearpeak-mpi: {said}")


def test_one_way_messages_go_through_every_rotating_buffer(launcher: Any) -> None:
    # An even number of buffers, whatever the caches: empty messages between must take none.
    words = ("--reuse", "rotating", "--sizes", "62500,192K,1M", "--slot-ms", "5")
    done = launcher.run("latency", "--direction", "0to1", *words)
    assert done.verified_sizes("latency") == [62500, 192 << 10, 1 << 20]


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


@one_library
def test_benchmarks_are_measured_in_the_order_of_the_command_line(launcher: Any) -> None:
    names = ["mbw_mr", "latency", "allreduce", "bw"]
    done = launcher.run(*names, "--sizes", "8", "--slot-ms", "1")
    assert done.code == 0, done.err
    assert list(dict.fromkeys(case["benchmark"] for case in done.of("samples"))) == names
