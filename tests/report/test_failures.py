# SPDX-License-Identifier: Apache-2.0
"""Launches that failed alike are told once."""

from nearpeak.report.failures import sentences, skipped, table
from nearpeak.results.results import EndedIn, FailureKind, Results, Skip
from nearpeak.terms.identity import Place, Who


def kind(launches: list[int], given_up_after: int = 0, x: int | None = None) -> FailureKind:
    return FailureKind(
        who=Who("mpich"),
        place=Place(path="host-host same-numa"),
        status="crashed",
        cause="SIGSEGV",
        launches=launches,
        first=launches[0],
        ended_in=[EndedIn(benchmark="latency", x=x)],
        message="ended by SIGSEGV",
        given_up_after=given_up_after,
        command="by hand",
        log=None,
    )


def test_a_kind_is_one_sentence(plain: Results) -> None:
    plain.failure_kinds = [kind([3, 4]), kind([5], given_up_after=3, x=8)]
    assert sentences(plain) == [
        "launch 3 and 1 more alike, mpich host-host same-numa latency: crashed: ended by SIGSEGV",
        "launch 5, mpich host-host same-numa latency of 8 B: crashed: ended by SIGSEGV; given up"
        " after 3 failures in a row without a sample",
    ]


def test_a_kind_is_one_row_with_what_is_needed_to_see_it_again(plain: Results) -> None:
    plain.failure_kinds = [kind([3, 4])]
    (row,) = table(plain).groups[0].rows
    launch = row.values["launch"]
    assert (launch.text, launch.notes, launch.hover) == ("3", ("and 1 more",), "launches 3, 4")
    assert (row.values["command"].text, row.values["command"].kind) == ("by hand", "command")
    plain.failure_kinds = []
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
