# SPDX-License-Identifier: Apache-2.0
"""Launches that failed alike are told once."""

from pathlib import Path

import msgspec
import pytest

from nearpeak.report.failures import by_library, sentences, skipped, table
from nearpeak.results.build import from_json
from nearpeak.results.results import EndedIn, FailureKind, Results, Skip
from nearpeak.terms.identity import Place, Who

EXAMPLES = Path(__file__).parents[2] / "examples"


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


@pytest.mark.parametrize(
    ("recording", "text"),
    [
        (
            "h200",
            "2 launches crashed at the end, after their figures: intel, 2 of 9 on host-gpu near"
            " (SIGSEGV)",
        ),
        (
            "h100x4-pairs",
            "16 launches failed: intel, 6 of 18 on host-gpu pairs (SIGSEGV at the end, after their"
            " figures) and 10 of 48 on gpu-gpu pairs (7 Abort, 3 MPIDI_GPU_ipc_allgather_open;"
            " figures lost)",
        ),
        (
            "h200x4-collectives",
            "5 launches failed and lost figures: intel, 4 of 8 on gpu x4 (SIGSEGV) and 1 of 8 on"
            " gpu-gpu nvlink (MPIDI_GPU_ipc_allgather_open)",
        ),
    ],
)
def test_each_library_has_its_paths_its_launches_and_all_causes(recording: str, text: str) -> None:
    results = from_json((EXAMPLES / recording / "results.json").read_bytes())
    assert by_library(results) == text


def test_one_launch_and_other_ends(plain: Results) -> None:
    plain.failure_kinds = [msgspec.structs.replace(kind([3]), lost=0, status="hung")]
    assert by_library(plain) == (
        "1 launch hung at the end, after its figures: mpich, 1 on host-host same-numa (SIGSEGV)"
    )


def test_many_libraries_paths_and_causes_are_counted(plain: Results) -> None:
    kinds = [kind([number]) for number in range(5)]
    plain.failure_kinds = [
        msgspec.structs.replace(
            one, who=Who(f"mpi{number}"), place=Place(path="a"), cause="", status="hung"
        )
        for number, one in enumerate(kinds)
    ]
    assert by_library(plain) == (
        "5 launches failed: mpi0, 1 on a (hung); mpi1, 1 on a (hung); mpi2, 1 on a (hung); 2 more"
    )
    plain.failure_kinds = [
        msgspec.structs.replace(one, place=Place(path=f"path{number}"))
        for number, one in enumerate(kinds)
    ]
    assert by_library(plain) == (
        "5 launches failed: mpich, 1 on path0 (SIGSEGV), 1 on path1 (SIGSEGV) and 3 on 3 more paths"
    )
