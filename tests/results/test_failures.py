# SPDX-License-Identifier: Apache-2.0
"""Launches that failed alike are of one kind."""

from pathlib import Path

from nearpeak.observations.load import load
from nearpeak.observations.observed import Block, Launch
from nearpeak.results.failures import failures, kinds
from nearpeak.results.results import EndedIn, Failure
from nearpeak.terms.identity import Place, Who

EXAMPLES = Path(__file__).parents[2] / "examples"


def failure(launch: int, cause: str, **other: object) -> Failure:
    fields: dict[str, object] = {
        "who": Who("mpich"),
        "place": Place(path="host-host same-numa"),
        "benchmarks": ["latency"],
        "status": "crashed",
        "message": f"of launch {launch}",
        **other,
    }
    return Failure(launch=launch, session=0, cause=cause, command="by hand", log=None, **fields)  # type: ignore[arg-type]


def test_causes_that_differ_in_numbers_are_alike() -> None:
    (kind,) = kinds(
        [
            failure(3, "pid 17 at 0x7ffe"),
            failure(5, "pid 4 at 0xabc", benchmarks=["bw", "latency"]),
            failure(9, "pid 8 at 0x1", given_up_after=3),
        ]
    )
    assert (kind.first, kind.launches) == (3, [3, 5, 9])
    assert [each.benchmark for each in kind.ended_in] == ["latency", "bw"]
    assert (kind.message, kind.cause, kind.given_up_after) == ("of launch 3", "pid 17 at 0x7ffe", 3)


def test_others_are_not() -> None:
    found = kinds(
        [
            failure(1, "SIGSEGV"),
            failure(2, "SIGABRT"),
            failure(3, "SIGSEGV", who=Who("intel")),
            failure(4, "SIGSEGV", place=Place(path="gpu-gpu nvlink")),
            failure(5, "SIGSEGV", status="hung"),
        ]
    )
    assert [kind.launches for kind in found] == [[1], [2], [3], [4], [5]]


def test_one_without_a_cause_is_of_those_that_measured_the_same() -> None:
    found = kinds(
        [
            failure(1, ""),
            failure(2, "SIGABRT"),
            failure(3, "SIGABRT"),
            failure(4, "SIGSEGV"),
            failure(5, "", who=Who("intel")),
            failure(6, "", benchmarks=["bw"]),
        ]
    )
    assert [(kind.first, kind.launches) for kind in found] == [
        (2, [1, 2, 3]),
        (4, [4]),
        (5, [5]),
        (6, [6]),
    ]


def test_the_case_that_it_ended_in_is_known() -> None:
    (kind,) = kinds([failure(1, "a", x=8), failure(2, "a", x=8), failure(3, "a", x=0)])
    assert kind.ended_in == [EndedIn(benchmark="latency", x=8), EndedIn(benchmark="latency")]


def test_a_kind_counts_all_launches_of_its_library_on_its_path() -> None:
    failed = failure(2, "SIGSEGV")
    launches = [
        Launch(number, Block(0, number), who, place, (), "ok")
        for number, who, place in (
            (1, failed.who, failed.place),
            (2, failed.who, failed.place),
            (3, Who("intel"), failed.place),
            (4, failed.who, Place(path="gpu-gpu nvlink")),
        )
    ]
    (kind,) = kinds([failed], launches)
    assert kind.of == 2
    assert kinds([failed])[0].of == 0


def test_a_kind_has_the_figures_that_its_launches_lost() -> None:
    assert kinds([failure(1, "a", lost=2), failure(2, "a", lost=0)])[0].lost == 2
    assert kinds([failure(1, "a", lost=0)])[0].lost == 0
    assert kinds([failure(1, "a", lost=2), failure(2, "a")])[0].lost is None


def test_a_launch_that_crashes_after_its_figures_loses_none() -> None:
    ended = failures(load(EXAMPLES / "h200"))  # cases that are too slow are no loss
    assert [failed.lost for failed in ended] == [0] * 2
    assert {failed.status for failed in ended} == {"crashed"}
    in_allreduce, *_ = failures(load(EXAMPLES / "h200-layer"))
    assert (in_allreduce.benchmarks, in_allreduce.lost) == (["allreduce"], 9)
