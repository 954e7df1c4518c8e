# SPDX-License-Identifier: Apache-2.0
"""Launches that failed alike are told once."""

from nearpeak.report.failures import alike, sentences, skipped, table
from nearpeak.results.results import Failure, Results, Skip
from nearpeak.terms.identity import Place, Who


def failure(launch: int, message: str, **other: object) -> Failure:
    fields: dict[str, object] = {
        "who": Who("mpich"),
        "place": Place(path="host-host same-numa"),
        "benchmarks": ["latency"],
        "status": "crashed",
        **other,
    }
    return Failure(launch=launch, session=0, message=message, command="by hand", log=None, **fields)  # type: ignore[arg-type]


def test_messages_that_differ_in_numbers_are_alike() -> None:
    found = alike(
        [
            failure(3, "ended by SIGSEGV: pid 17 at 0x7ffe"),
            failure(5, "ended by SIGSEGV: pid 4 at 0xabc", benchmarks=["bw", "latency"]),
            failure(9, "ended by SIGSEGV: pid 8 at 0x1; given up after 3 failures in a row"),
        ]
    )
    (one,) = found
    assert one.first.launch == 3
    assert one.launches == [3, 5, 9]
    assert one.benchmarks == ["latency", "bw"]
    assert one.message == ("ended by SIGSEGV: pid 17 at 0x7ffe; given up after 3 failures in a row")


def test_others_are_not() -> None:
    found = alike(
        [
            failure(1, "ended by SIGSEGV"),
            failure(2, "ended by SIGABRT"),
            failure(3, "ended by SIGSEGV", who=Who("intel")),
            failure(4, "ended by SIGSEGV", place=Place(path="gpu-gpu nvlink")),
            failure(5, "ended by SIGSEGV", status="hung"),
        ]
    )
    assert [one.launches for one in found] == [[1], [2], [3], [4], [5]]


def test_launchers_words_part_nothing_and_what_ends_other_ranks_is_no_cause() -> None:
    found = alike(
        [
            failure(1, "ended by SIGTERM: Terminated (signal 15)"),
            failure(2, "ended by SIGABRT: Aborted (signal 6)"),
            failure(3, "ended by SIGABRT: rank 0 on node vm exited on signal 6"),
            failure(4, "ended by SIGSEGV: Segmentation fault (signal 11)"),
            failure(5, "ended by SIGKILL: Killed (signal 9)", who=Who("intel")),
            failure(6, "ended by SIGTERM: Terminated (signal 15)", benchmarks=["bw"]),
        ]
    )
    assert [(one.first.launch, one.launches) for one in found] == [
        (2, [1, 2, 3]),
        (4, [4]),
        (5, [5]),
        (6, [6]),
    ]
    assert found[0].message == "ended by SIGABRT: Aborted (signal 6)"


def test_a_group_is_one_sentence() -> None:
    found = sentences([failure(3, "ended by SIGSEGV"), failure(4, "ended by SIGSEGV")])
    assert found == [
        "launch 3 and 1 more alike, mpich host-host same-numa latency: crashed: ended by SIGSEGV"
    ]


def test_a_group_is_one_row_with_what_is_needed_to_see_it_again(plain: Results) -> None:
    plain.failures = [failure(3, "ended by SIGSEGV"), failure(4, "ended by SIGSEGV")]
    (row,) = table(plain).groups[0].rows
    launch = row.values["launch"]
    assert (launch.text, launch.notes, launch.hover) == ("3", ("and 1 more",), "launches 3, 4")
    assert (row.values["command"].text, row.values["command"].kind) == ("by hand", "command")
    plain.failures = []
    assert table(plain).groups == []


def test_cases_that_were_left_out(plain: Results) -> None:
    skip = Skip(
        who=Who("mpich"),
        place=Place(path="host-host same-numa"),
        benchmark="bw",
        method="",
        sizes=[1, 8],
        message="no memory",
    )
    plain.skipped = [skip]
    (row,) = skipped(plain).groups[0].rows
    assert (row.values["sizes"].text, row.values["reason"].text) == ("1 B, 8 B", "no memory")
    skip.sizes = [1, 8, 64, 4096]
    (row,) = skipped(plain).groups[0].rows
    assert row.values["sizes"].text == "1 B to 4 KiB"
