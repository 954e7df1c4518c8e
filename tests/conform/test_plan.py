# SPDX-License-Identifier: Apache-2.0
"""Which cases are tried."""

from collections import Counter

import msgspec
import pytest

from nearpeak.conform import plan
from nearpeak.conform.plan import Chosen
from nearpeak.launching.describe import Allocator, Description, Operation
from nearpeak.terms.benchmarks import Axis, Benchmark, Metric, RankRule
from nearpeak.terms.trials import GROW, IN_PLACE, LEAK, Outcome, TrialCase


def benchmark(name: str, default: bool, rule: str = "exactly") -> Benchmark:
    return Benchmark(
        name=name,
        family="pt2pt",
        summary="",
        metrics=[Metric(name=name, unit="us", better="lower")],
        ranks=RankRule(rule=rule, count=2),
        axes=list[Axis](),
        default=default,
    )


DESCRIBED = Description(
    schema=3,
    program="nearpeak-mpi",
    version="",
    benchmarks=[benchmark("latency", True), benchmark("fan", False)],
    operations=[Operation("put")],
    allocators=[Allocator("vmm", "D")],
)


def tried(chosen: Chosen, buffers: str = "D,D") -> Counter[str]:
    operations = plan.operations(DESCRIBED, chosen)
    where = plan.memories(DESCRIBED, chosen, [buffers])
    return Counter(case.operation for case in plan.cases(DESCRIBED, chosen, operations, where))


def test_by_default_all_ways_are_tried_of_what_is_measured_by_default() -> None:
    # Data, at an odd offset too, churn, leak, grow; with vmm data.
    assert tried(Chosen()) == {"latency": 6, "put": 6, "fan": 1}


def test_other_buffers_are_tried_with_what_is_measured_by_default_unless_they_are_named() -> None:
    assert tried(Chosen(), "M,M") == {"latency": 5, "put": 5}
    assert tried(Chosen(buffers=["M,M"]), "M,M") == {"latency": 5, "put": 5, "fan": 1}


def test_what_is_named_is_tried_in_all_ways() -> None:
    assert tried(Chosen(operations=["fan"])) == {"fan": 6}


def test_full_is_all_ways_of_everything() -> None:
    assert tried(Chosen(depth="full")) == dict.fromkeys(["latency", "put", "fan"], 2 * (2 * 3 + 1))


def collective(name: str, default: bool) -> Benchmark:
    axis = Axis(name="inplace", values=["no", "yes"], default="no")
    made = benchmark(name, default, "at least")
    return msgspec.structs.replace(made, family="collective", axes=[axis])


REPORTED = msgspec.structs.replace(
    DESCRIBED,
    benchmarks=[
        benchmark("latency", True),
        benchmark("bw", True),
        collective("allreduce", True),
        collective("scan", False),
    ],
    operations=[
        Operation("put"),
        Operation("requests", family="pt2pt"),
        Operation("busy_stream", family="stream", on_devices=True),
    ],
    allocators=[Allocator("pool", "D"), Allocator("managed-pool", "M")],
)


def reported(depth: plan.Depth, buffers: str, *names: str) -> list[TrialCase]:
    chosen = Chosen(depth=depth, operations=list(names))
    where = plan.memories(REPORTED, chosen, [buffers])
    return plan.cases(REPORTED, chosen, plan.operations(REPORTED, chosen), where)


def of_check(found: list[TrialCase], check: str) -> list[tuple[str, str, int]]:
    return sorted(
        (case.operation, case.allocator, case.ranks) for case in found if case.check == check
    )


def test_collective_operations_are_tried_in_place_too() -> None:
    assert of_check(reported("quick", "H,H"), IN_PLACE) == []
    for buffers in ("H,H", "D,D"):
        assert of_check(reported("default", buffers), IN_PLACE) == [
            *(("allreduce", "plain", ranks) for ranks in (2, 3, 4)),
            ("scan", "plain", 2),
        ]
    assert {name for name, _, _ in of_check(reported("default", "M,M"), IN_PLACE)} == {"allreduce"}
    assert ("scan", "pool", 2) in of_check(reported("full", "D,D"), IN_PLACE)
    assert ("scan", "plain", 4) in of_check(reported("full", "D,D"), IN_PLACE)
    in_place = [case for case in reported("full", "D,D") if case.check in (IN_PLACE, GROW)]
    assert {case.offset for case in in_place} == {0}


def test_a_failure_in_place_does_not_hide_the_usual_way() -> None:
    found = reported("default", "H,H")
    usual = found.index(TrialCase("H,H", "allreduce"))
    assert usual < found.index(TrialCase("H,H", "allreduce", check=IN_PLACE))
    ended = [Outcome(case=TrialCase("H,H", "allreduce", check=IN_PLACE), status="crashed")]
    assert plan.pointless(found, ended) == {}


def test_buffers_grow_with_one_operation_of_each_family_unless_they_are_named() -> None:
    growing = ["allreduce", "latency", "put"]
    assert [name for name, _, _ in of_check(reported("default", "D,D"), GROW)] == growing
    assert of_check(reported("default", "D,D", "bw"), GROW) == [("bw", "plain", 2)]
    assert ("requests", "pool", 2) in of_check(reported("full", "D,D"), GROW)
    barrier = msgspec.structs.replace(benchmark("barrier", True), sized=False)
    described = msgspec.structs.replace(REPORTED, benchmarks=[barrier], operations=[])
    chosen = Chosen(depth="full")
    where = plan.memories(described, chosen, ["H,H"])
    found = plan.cases(described, chosen, plan.operations(described, chosen), where)
    assert of_check(found, GROW) == []


@pytest.mark.parametrize(
    ("buffers", "names"),
    [
        ("H,H", {"requests"}),
        ("P,P", set()),
        ("D,D", {"requests", "busy_stream"}),
        ("M,M", {"busy_stream"}),
        ("H,D", {"busy_stream"}),
    ],
)
def test_what_no_benchmark_measures_is_tried_where_it_can_be(buffers: str, names: set[str]) -> None:
    special = {"requests", "busy_stream"}
    found = reported("default", buffers)
    assert {case.operation for case in found} & special == names
    assert all(plan.is_first(case) for case in found if case.operation in special)
    assert not {case.operation for case in reported("quick", buffers)} & special
    named = reported("quick", buffers, "requests", "busy_stream")
    assert {case.operation for case in named} == {"requests"} | (names - {"requests"})


def test_pools_are_memory_as_any_other() -> None:
    named = ("put", "latency", "bw", "allreduce")
    for buffers, pool in (("D,D", "pool"), ("M,M", "managed-pool")):
        found = [case for case in reported("default", buffers) if case.allocator == pool]
        assert sorted(found) == sorted(TrialCase(buffers, name, pool) for name in named)


COLLECTIVE = msgspec.structs.replace(
    DESCRIBED,
    benchmarks=[
        benchmark("latency", True),
        benchmark("allreduce", True, "at least"),
        benchmark("mbw_mr", False, "even"),
    ],
)


def cases(chosen: Chosen, *buffers: str) -> list[TrialCase]:
    operations = plan.operations(COLLECTIVE, chosen)
    where = plan.memories(COLLECTIVE, chosen, buffers)
    return plan.cases(COLLECTIVE, chosen, operations, where)


@pytest.mark.parametrize("depth", ["quick", "default", "full"])
def test_what_more_ranks_can_do_is_tried_among_more(depth: plan.Depth) -> None:
    found = cases(Chosen(depth=depth), "H,H", "H,D")
    more = [case for case in found if case.ranks > 2]
    # The data of plain memory that is alike on all ranks, after everything else rests on.
    assert {(case.operation, case.ranks) for case in more} == {
        ("allreduce", 3),
        ("allreduce", 4),
        ("mbw_mr", 4),
    }
    assert {msgspec.structs.replace(case, operation="", ranks=2) for case in more} == {
        TrialCase("H,H", "")
    }
    first = [plan.is_first(case) for case in found]
    assert first == sorted(first, reverse=True)
    ranks = [case.ranks for case in found]
    assert ranks == sorted(ranks)  # as few jobs as can be
    wanted = plan.FULL_SIZES if depth == "full" else plan.QUICK_SIZES
    assert plan.sizes_of(more[0], Chosen(depth=depth)) == wanted


def test_what_fails_between_two_ranks_is_not_tried_among_more() -> None:
    left = [TrialCase("H,H", "allreduce", ranks=3)]
    ended = [Outcome(case=TrialCase("H,H", "allreduce"), status="hung", alone="hung")]
    assert plan.pointless(left, ended) == {
        left[0]: "allreduce hung with plain buffers already: --full tries it all the same"
    }


def test_the_first_case_of_an_operation_is_never_pointless() -> None:
    ended = [
        Outcome(case=TrialCase("D,D", f"bad{number}"), status="crashed")
        for number in range(plan.ENOUGH)
    ]
    left = [
        TrialCase("D,D", "put"),
        TrialCase("D,D", "put", check=LEAK),
        TrialCase("D,D", "bad0", offset=1),
    ]
    assert plan.pointless(left, ended) == {
        left[1]: "6 cases have failed with such buffers already: --full tries it all the same",
        left[2]: "bad0 crashed with plain buffers already: --full tries it all the same",
    }
