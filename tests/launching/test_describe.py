# SPDX-License-Identifier: Apache-2.0
"""Variants are checked against the program's own description."""

import os
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.describe import Description, describe, joined, parse_variant
from nearpeak.terms.benchmarks import Axis, RankRule, X


@pytest.fixture
def description(standins: ModuleType, tmp_path: Path) -> Description:
    program = standins.make_tools(tmp_path).native_program()
    return describe(program, dict(os.environ))


def test_a_variant_has_a_value_for_every_axis(description: Description) -> None:
    assert parse_variant(description, "latency").axes == {
        "calls": "blocking",
        "reuse": "fixed",
        "touch": "none",
        "staging": "none",
    }
    variant = parse_variant(description, "bw:calls=nonblocking, reuse=rotating")
    assert variant.benchmark == "bw"
    assert variant.axes == {
        "calls": "nonblocking",
        "reuse": "rotating",
        "touch": "none",
        "staging": "none",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latncy", "unknown benchmark 'latncy'; did you mean 'latency'?"),
        ("nothing", "unknown benchmark 'nothing'; there are: allreduce, bibw"),
        ("bw:cals=blocking", "benchmark bw has no axis 'cals'; did you mean 'calls'?"),
        ("bw:calls=fast", "calls cannot be 'fast'; there are: blocking, nonblocking"),
        ("bw:calls", "write 'calls' as AXIS=VALUE"),
    ],
)
def test_what_there_is_not_is_bad_input(description: Description, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        parse_variant(description, text)
    assert message in str(error.value)


def test_descriptions_of_two_programs_are_joined(description: Description) -> None:
    [latency] = [benchmark for benchmark in description.benchmarks if benchmark.name == "latency"]
    own = [axis for axis in latency.axes if axis.name != "staging"]
    calls = msgspec.structs.replace(own[0], values=["blocking", "enqueued"])
    assert calls.name == "calls"
    other = msgspec.structs.replace(
        description,
        benchmarks=[msgspec.structs.replace(latency, axes=[calls, *own[1:]], summary="another")],
    )
    both = joined([description, other])
    [known] = [benchmark for benchmark in both.benchmarks if benchmark.name == "latency"]
    assert known.summary == latency.summary
    assert known.axes[0].values == [*latency.axes[0].values, "enqueued"]
    enqueued = parse_variant(both, "latency:calls=enqueued")
    defaults = {axis.name: axis.default for axis in known.axes}
    assert other.measures(enqueued, defaults)
    assert not description.measures(enqueued, defaults)
    # An axis that it lacks has its default there, and no other value.
    assert not other.measures(parse_variant(both, "latency:staging=pinned"), defaults)
    assert not other.measures(parse_variant(both, "bw"), defaults)


def test_an_axis_of_one_library_goes_without_saying_at_its_default(
    description: Description,
) -> None:
    [latency] = [benchmark for benchmark in description.benchmarks if benchmark.name == "latency"]
    calls = msgspec.structs.replace(latency.axes[0], values=["blocking"], usual=["blocking"])
    own = Axis("register", ["none", "symmetric"], "none", usual=["none", "symmetric"], implied=True)
    other = msgspec.structs.replace(
        description, benchmarks=[msgspec.structs.replace(latency, axes=[calls, own])]
    )
    both = joined([description, other])
    [known] = [benchmark for benchmark in both.benchmarks if benchmark.name == "latency"]
    plain = parse_variant(both, "latency")
    assert plain == parse_variant(both, "latency:register=none")
    assert plain == parse_variant(description, "latency")
    symmetric = parse_variant(both, "latency:register=symmetric")
    assert symmetric.axes == {**plain.axes, "register": "symmetric"}
    assert other.measures(symmetric, known.defaults)
    assert not description.measures(symmetric, known.defaults)
    assert description.measures(plain, known.defaults)
    assert both.usual(["latency"]) == ["latency", "latency:register=symmetric"]


def test_what_a_study_measures_by_itself_is_joined_too(description: Description) -> None:
    [latency] = [benchmark for benchmark in description.benchmarks if benchmark.name == "latency"]
    calls = latency.axes[0]
    graph = msgspec.structs.replace(
        calls, values=[calls.default, "graph"], usual=[calls.default, "graph"]
    )
    other = msgspec.structs.replace(
        description, benchmarks=[msgspec.structs.replace(latency, axes=[graph])]
    )
    both = joined([description, other])
    assert both.usual(["latency"]) == ["latency", "latency:calls=graph"]
    assert description.usual(["latency"]) == ["latency"]


def test_benchmarks_are_chosen_by_family(description: Description) -> None:
    families = {"allreduce": "collective", "bibw": "pt2pt", "bw": "pt2pt"}
    told = msgspec.structs.replace(
        description,
        benchmarks=[
            msgspec.structs.replace(benchmark, family=families.get(benchmark.name, ""))
            for benchmark in description.benchmarks
        ],
    )
    assert told.of_families(["pt2pt", "collective"]) == ["bibw", "bw", "allreduce"]
    assert told.of_families([]) == []
    with pytest.raises(UserError, match="no operations 'colective'; did you mean 'collective'"):
        told.of_families(["colective"])


def test_applications_are_a_family_of_their_own(description: Description) -> None:
    solver = msgspec.structs.replace(
        description.benchmarks[0], name="solver", family="app", x=X(name="side", unit="cells")
    )
    told = msgspec.structs.replace(description, benchmarks=[*description.benchmarks, solver])
    assert "solver" not in told.of_families(["all"])
    assert told.of_families(["app"]) == ["solver"]
    assert "solver" in told.of_families(["all", "app"])


def test_a_benchmark_says_what_it_moves_and_what_it_is_held_against(
    description: Description,
) -> None:
    told = {
        benchmark.name: (
            benchmark.moves.bytes(8, window=64),
            benchmark.ceiling,
            benchmark.has_ceiling,
        )
        for benchmark in description.benchmarks
    }
    assert told == {
        "allreduce": (16, "none", False),
        "bibw": (1024, "measured", True),
        "bw": (512, "measured", True),
        "latency": (16, "measured", True),
        "mbw_mr": (512, "measured", True),
    }
    assert {(benchmark.x.name, benchmark.x.unit) for benchmark in description.benchmarks} == {
        ("size", "B")
    }
    assert description.defaults == ["bibw", "bw", "latency"]


def test_a_program_that_does_not_answer_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not describe itself"):
        describe(tmp_path / "missing", {})


@pytest.mark.parametrize(
    ("rule", "count", "fitting"),
    [
        ("exactly", 2, [2]),
        ("at least", 3, [3, 4, 5, 6, 7, 8, 9]),
        ("even", 2, [2, 4, 6, 8]),
        ("even", 4, [4, 6, 8]),
    ],
)
def test_rules_of_ranks(rule: str, count: int, fitting: list[int]) -> None:
    known = RankRule(rule, count)
    assert [ranks for ranks in range(1, 10) if known.fits(ranks)] == fitting
    assert str(count) in known.text


def test_an_older_description_is_bad_input(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho \'{"schema": 1, "modes": []}\'\n')
    program.chmod(0o755)
    with pytest.raises(UserError, match="describes itself in schema 1, not 3"):
        describe(program, {})
