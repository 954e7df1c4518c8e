# SPDX-License-Identifier: Apache-2.0
"""Plans in lines for people."""

from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.launching.describe import Variant
from nearpeak.planning.make import make_plan
from nearpeak.planning.options import Options
from nearpeak.planning.summary import promise, summary


def latency(**axes: str) -> Variant:
    axes = {"calls": "blocking", "reuse": "fixed", **axes}
    return Variant(benchmark="latency", axes=axes)


def test_variants_are_called_as_they_are_asked_for(standins: ModuleType) -> None:
    plan = standins.plan_for(latency(), latency(reuse="rotating", calls="nonblocking"))
    assert "benchmarks: latency, latency:calls=nonblocking,reuse=rotating" in summary(plan)


def test_a_plan_says_what_precision_to_expect(standins: ModuleType) -> None:
    def said(**options: Any) -> str:
        plan = standins.plan_for(**options)
        plan.deviation = 0.1
        (line,) = [line for line in summary(plan) if line.startswith("precision:")]
        return line.removeprefix("precision:  ")

    assert said(launches=12) == (
        "a 95 % interval of about ± 7.2 % from 12 launches of each case, "
        "assuming that launches deviate by 10 %"
    )
    assert said(launches=2) == "2 launches of each case, too few for a 95 % interval"


def test_what_has_no_sizes_is_said_to_have_none(standins: ModuleType) -> None:
    plan = standins.plan_for(latency())
    said = "            latency: no sizes, measured once"
    assert said not in summary(plan)
    plan.benchmarks = [
        msgspec.structs.replace(benchmark, sized=benchmark.name != "latency")
        for benchmark in plan.benchmarks
    ]
    assert said in summary(plan)


@pytest.mark.parametrize(
    ("libraries", "words"),
    [
        (1, None),
        (2, "6 blocks are needed for 1 pair of alternatives"),
        (
            3,
            "7 blocks are needed for 3 pairs of alternatives; 6 blocks judge only 1 of them, the"
            " first in the order of the libraries",
        ),
    ],
)
def test_a_plan_says_how_many_blocks_verdicts_take(
    standins: ModuleType, libraries: int, words: str | None
) -> None:
    contenders = [standins.contender(name) for name in ("a", "b", "c")[:libraries]]
    plan = make_plan(
        Options(launches=6), contenders, [latency()], [standins.data_path()], standins.BENCHMARKS
    )
    found = [
        line.removeprefix("verdicts:   ") for line in summary(plan) if line.startswith("verdicts:")
    ]
    assert found == ([words] if words else [])


def test_a_promise_says_what_it_assumes() -> None:
    assert promise(0.03, 20) == (
        "a 95 % interval of about ± 1.7 % from 20 launches of each case, "
        "assuming that launches deviate by 3 %"
    )
