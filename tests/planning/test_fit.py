# SPDX-License-Identifier: Apache-2.0
"""What of a plan its budget holds, and what is left out."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.launching.describe import Description, Variant
from nearpeak.launching.paths import paths_within, select_paths
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.planning.fit import (
    GOAL_LAUNCHES,
    blocks_wanted,
    budget_for,
    cuts,
    expected_blocks,
    fits_budget,
)
from nearpeak.planning.make import make_plan
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Plan
from nearpeak.planning.summary import summary
from nearpeak.planning.usual import SIZES, USUAL_SECONDS
from nearpeak.planning.variants import asked_for
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.sizes import format_seconds

TESTS = Path(__file__).parent.parent
MACHINES = sorted((TESTS / "machines").glob("*.txt"))


@pytest.fixture(scope="module")
def described() -> Description:
    """What a default study measures, as the programs once said."""
    file = Path(__file__).with_name("described.json")
    benchmarks = msgspec.json.decode(file.read_bytes(), type=list[Benchmark])
    return Description(schema=3, program="", version="", benchmarks=benchmarks)


def plan_of(
    standins: ModuleType, described: Description, machine: str, libraries: int, **said: Any
) -> Plan:
    """The plan of a study on a recorded machine."""
    options = Options(**said)
    found = from_sysfs(TESTS / "machines" / f"{machine}.txt")
    paths = select_paths(found, [], options.paths, bool(options.all_pairs))
    asked = asked_for(options, described, paths, paths_within(found))
    contenders = [standins.contender(f"library{number}") for number in range(libraries)]
    return make_plan(options, contenders, asked.variants, asked.paths, described.benchmarks)


def test_a_budget_that_holds_enough_launches_takes_nothing(standins: ModuleType) -> None:
    wide = standins.plan_for(budget_seconds=10 * 3600)
    assert (wide.slot_ms, wide.slot_fixed, wide.sizes) == (20, False, SIZES)
    assert wide.looks[:5] == [6, 9, 12, 18, 24]
    assert expected_blocks(wide) == wide.looks[-1]
    enough = standins.plan_for(budget_seconds=budget_for(wide, 12) * 1.01)
    assert (enough.sizes, enough.left_out) == (SIZES, [])
    assert expected_blocks(enough) == 12


def test_a_budget_takes_sizes_before_anything_else_and_never_bytes_in_flight(
    standins: ModuleType,
) -> None:
    whole = standins.plan_for()
    tight = standins.plan_for(budget_seconds=budget_for(whole, GOAL_LAUNCHES) * 0.8)
    flight = (whole.in_flight_bytes, whole.gpu_in_flight_bytes)
    assert (tight.in_flight_bytes, tight.gpu_in_flight_bytes) == flight
    assert expected_blocks(tight) >= GOAL_LAUNCHES
    assert (tight.paths, tight.left_out) == (whole.paths, [])
    # The costliest sizes go first.
    assert tight.sizes in (SIZES, *(sorted({0, 8, *(4**p for p in range(n))}) for n in (14, 13)))
    few = standins.plan_for(budget_seconds=1)
    assert few.sizes == sorted({0, 8, 1 << 24, *(16**power for power in range(6))})
    assert (few.in_flight_bytes, few.gpu_in_flight_bytes) == flight


def test_a_budget_leaves_no_size_out_that_something_is_required_of(standins: ModuleType) -> None:
    plan = standins.plan_for(budget_seconds=1.0, kept_sizes=[32 * 1024, 100])
    assert 32 * 1024 in plan.sizes
    assert 16 * 1024 not in plan.sizes
    assert 100 not in plan.sizes  # it was not to be measured at all


def test_a_budget_too_small_for_anything_says_what_would_do(standins: ModuleType) -> None:
    plan = standins.plan_for(budget_seconds=1.0)
    assert expected_blocks(plan) == 2
    assert [launch.path for launch in plan.launches if launch.role == "mpi"] == [
        "host-host same-numa"
    ] * 2
    [note] = [line for line in summary(plan) if "the budget is too small" in line]
    assert "6 blocks need --budget " in note
    assert "note:       fewer than 6 launches give no 95 % interval" in summary(plan)


@pytest.mark.parametrize("machine", [file.stem for file in MACHINES])
def test_the_budget_of_every_machine_holds_six_blocks(
    standins: ModuleType, described: Description, machine: str
) -> None:
    whole = plan_of(standins, described, machine, 2, budget_seconds=1e9)
    for libraries, budget in ((2, 360), (2, 780), (3, 360), (3, 780)):
        plan = plan_of(standins, described, machine, libraries, budget_seconds=budget)
        assert expected_blocks(plan) >= FEWEST_FOR_INTERVAL
        used = {launch.path for launch in plan.launches}
        assert used == {path.id for path in plan.paths}
        assert {8, 1 << 24} < set(plan.sizes)
        _accounts_for_everything(whole, plan)
        lines = summary(plan)
        for left in plan.left_out:
            assert any(left.why in line and left.name in line for line in lines)


def _accounts_for_everything(whole: Plan, plan: Plan) -> None:
    """Each path and benchmark is measured, or left out once."""
    paths = [path.id for path in plan.paths] + [id for left in plan.left_out for id in left.paths]
    assert sorted(paths) == sorted(path.id for path in whole.paths)
    names = {variant.benchmark for variant in plan.variants}
    names |= {name for left in plan.left_out for name in left.benchmarks}
    assert names == {variant.benchmark for variant in whole.variants}


def test_the_budget_that_is_told_keeps_what_was_left_out(
    standins: ModuleType, described: Description
) -> None:
    small = plan_of(standins, described, "h200x2", 2, budget_seconds=200)
    assert len(small.left_out) > 4
    budgets = [left.budget_seconds for left in small.left_out]
    assert budgets == sorted(budgets, reverse=True)
    [whole] = {left.whole_seconds for left in small.left_out}
    assert plan_of(standins, described, "h200x2", 2, budget_seconds=whole).left_out == []
    assert any(
        f"nothing is left out with {format_seconds(whole)}:" in line for line in summary(small)
    )
    for each in small.left_out:
        plan = plan_of(standins, described, "h200x2", 2, budget_seconds=each.budget_seconds)
        assert (each.kind, each.name) not in [(left.kind, left.name) for left in plan.left_out]


def test_families_go_before_paths_and_like_paths_before_unlike_ones(
    standins: ModuleType, described: Description
) -> None:
    options = Options(budget_seconds=1e9)
    whole = plan_of(standins, described, "dgx-h100", 2, budget_seconds=1e9)
    assert [(cut.kind, cut.name) for cut in cuts(whole, options)] == [
        ("memory", "from other NUMA nodes"),
        ("family", "datatype"),
        ("family", "rma"),
        ("family", "collective"),
        ("benchmark", "bibw"),
        ("memory", "of its own NUMA node"),
        ("path", "host-host tcp-loopback"),
        ("path", "gpu x8"),
        ("path", "host-gpu far"),
        ("path", "host x112"),
        ("path", "host-host cross-numa"),
        ("path", "host x112 gpu-support"),
        ("path", "host-host same-numa gpu-support"),
        ("path", "gpu x4"),
        ("path", "host x4"),
        ("path", "host-host same-numa"),
        ("path", "host-gpu near same-gpu"),
        ("path", "gpu-gpu same-gpu mps"),
        ("path", "gpu-gpu same-gpu"),
        ("path", "host-gpu near"),
    ]
    plan = plan_of(standins, described, "dgx-h100", 2, budget_seconds=90)
    [wide] = [left.paths for left in plan.left_out if left.name == "collective"]
    assert wide == [  # nothing else runs there
        *("host x4", "host x112", "gpu x4", "gpu x8", "host x112 gpu-support")
    ]
    assert "gpu-gpu nvlink" in {launch.path for launch in plan.launches if launch.role == "mpi"}


def test_what_the_user_named_is_never_left_out(
    standins: ModuleType, described: Description
) -> None:
    def left(**said: Any) -> list[str]:
        plan = plan_of(standins, described, "h200x2", 2, budget_seconds=60, **said)
        return [left.name for left in plan.left_out]

    usual = left()
    assert {"rma", "bibw", "host-host tcp-loopback", "gpu-gpu same-gpu"} < set(usual)
    named = ["latency", "bibw", "put_bw", "allreduce"]
    assert not {"rma", "collective", "bibw"} & set(left(benchmarks=named))
    assert "rma" not in left(operations=["rma", "pt2pt"])
    assert "rma" in left(operations=["all"])
    paths = ["host-host tcp-loopback", "gpu-gpu same-gpu"]
    assert not set(paths) & set(left(paths=paths))
    assert not set(paths) & set(left(kept_paths=paths))
    assert not set(paths) & set(left(kept_paths=["*"]))
    alone = left(benchmarks=["latency", "bibw"], paths=paths, kept_paths=paths[1:], kept_alone=True)
    assert alone == ["bibw", paths[0]]
    # Where one stays in any case, the last of those that may go need not.
    whole = ["host-gpu near", "gpu-gpu same-gpu"]
    tight = left(benchmarks=["latency"], paths=whole, kept_paths=whole[1:], kept_alone=True)
    assert tight == whole[:1]
    plan = plan_of(standins, described, "h200x2", 2, budget_seconds=60, kept_benchmarks=["put_bw"])
    [rma] = [left for left in plan.left_out if left.name == "rma"]
    assert rma.benchmarks == ["put_latency"]


def test_a_library_may_be_left_out_on_each_path_that_was_not_named(
    standins: ModuleType, described: Description
) -> None:
    def libraries(**said: Any) -> set[tuple[int | None, str]]:
        plan = plan_of(standins, described, "one-gpu", 2, budget_seconds=1e9, **said)
        found = [each for each in plan.spare if each.kind == "library"]
        assert plan.spare[-len(found) :] == found or not found
        assert plan.left_out == []
        for each in found:
            assert each.name == f"library{each.contender} on {each.paths[0]}"
        return {(each.contender, each.paths[0]) for each in found}

    usual = libraries()
    assert {(0, "host-gpu near"), (1, "host-gpu near"), (1, "host-host same-numa")} < usual
    assert libraries(kept_paths=["host-gpu near"]) == {
        (number, path) for number, path in usual if path != "host-gpu near"
    }
    assert libraries(paths=["host-gpu near", "host-host same-numa"]) == set()
    # What was found is confirmed: a library that became slow is a finding.
    assert libraries(kept_paths=["host-gpu near"], kept_alone=True) == set()


def test_all_pairs_are_asked_for(standins: ModuleType, described: Description) -> None:
    plan = plan_of(standins, described, "h200x2", 2, budget_seconds=60, all_pairs=True)
    assert not [left for left in plan.left_out if left.kind == "path"]
    assert not fits_budget(plan, blocks_wanted(plan))
    assert any("the budget is too small" in line for line in summary(plan))
    # And take as long as the default study, where nobody says how long.
    plan = plan_of(standins, described, "dgx-h100", 1, all_pairs=True)
    assert plan.budget_seconds == USUAL_SECONDS
    assert "bibw" in [left.name for left in plan.left_out]


def test_ways_of_staging_go_but_for_the_last(standins: ModuleType) -> None:
    ways = [
        msgspec.structs.replace(
            standins.LATENCY, axes={**standins.LATENCY.axes, "staging": way}, buffers="D,D"
        )
        for way in ("none", "pageable", "pinned", "pipelined")
    ]

    def left(**said: Any) -> list[tuple[str, str]]:
        plan = make_plan(
            Options(budget_seconds=1, **said),
            [standins.contender()],
            ways,
            [standins.gpu_path()],
            standins.BENCHMARKS,
        )
        return [(left.kind, left.name) for left in plan.left_out]

    assert left() == [("staging", "pageable"), ("staging", "pinned")]
    assert left(benchmarks=["latency:staging=pageable"]) == []


def test_a_budget_holds_as_many_blocks_as_verdicts_on_all_libraries_need(
    standins: ModuleType, described: Description
) -> None:
    for libraries, blocks in ((2, 6), (3, 7), (4, 8)):
        plan = plan_of(standins, described, "cloud-vm", libraries, budget_seconds=300)
        assert plan.left_out
        assert blocks_wanted(plan) == blocks <= expected_blocks(plan)
    few = plan_of(standins, described, "cloud-vm", 4, budget_seconds=300, launches=3)
    assert blocks_wanted(few) == 3


def test_a_family_that_nobody_knows_goes_first(standins: ModuleType) -> None:
    mine = Benchmark("mine", [Metric("mine", "us", "lower")], RankRule("exactly", 2), family="mine")
    known: Sequence[Benchmark] = [*standins.BENCHMARKS, mine]
    paths = [standins.data_path()]
    variants = [standins.LATENCY, Variant(benchmark="mine", axes={})]
    plan = make_plan(Options(budget_seconds=1), [standins.contender()], variants, paths, known)
    assert [left.name for left in plan.left_out] == ["mine"]


def test_what_six_launches_of_a_small_machine_take(
    standins: ModuleType, described: Description
) -> None:
    plan = plan_of(standins, described, "cloud-vm", 2, budget_seconds=90)
    assert expected_blocks(plan) >= FEWEST_FOR_INTERVAL
    assert {"latency", "bw"} <= {variant.benchmark for variant in plan.variants}


def test_paths_of_a_machine_with_gpus_stay_longest(
    standins: ModuleType, described: Description
) -> None:
    plan = plan_of(standins, described, "one-gpu", 2, budget_seconds=360)
    found = from_sysfs(TESTS / "machines" / "one-gpu.txt")
    there = {path.id for path in discover_paths(found)[0] if "gpu" in path.place.ends}
    assert there <= {launch.path for launch in plan.launches if launch.role == "mpi"}
    assert len(plan.launches) <= 16
