# SPDX-License-Identifier: Apache-2.0
"""Which cases are tried."""

from collections import Counter

import msgspec
import pytest

from nearpeak.conform import plan
from nearpeak.conform.plan import Chosen
from nearpeak.launching.describe import Allocator, Description, Operation
from nearpeak.terms.benchmarks import Axis, Benchmark, Metric, RankRule
from nearpeak.terms.trials import LEAK, Outcome, TrialCase


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
    # Data, at an odd offset too, churn, leak; with vmm data.
    assert tried(Chosen()) == {"latency": 5, "put": 5, "fan": 1}


def test_other_buffers_are_tried_with_what_is_measured_by_default_unless_they_are_named() -> None:
    assert tried(Chosen(), "M,M") == {"latency": 4, "put": 4}
    assert tried(Chosen(buffers=["M,M"]), "M,M") == {"latency": 4, "put": 4, "fan": 1}


def test_what_is_named_is_tried_in_all_ways() -> None:
    assert tried(Chosen(operations=["fan"])) == {"fan": 5}


def test_full_is_all_ways_of_everything() -> None:
    assert tried(Chosen(depth="full")) == dict.fromkeys(["latency", "put", "fan"], 2 * 2 * 3)


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
