# SPDX-License-Identifier: Apache-2.0
"""What is no answer to a plan is refused, and what is owed is known."""

from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.launching.describe import Variant
from nearpeak.launching.places import NO_PLACE
from nearpeak.launching.program_records import EnvironmentRecord, ProblemRecord, SamplesRecord
from nearpeak.planning.commands import wanted_place
from nearpeak.planning.make import make_plan
from nearpeak.planning.options import Options
from nearpeak.study.answers import Answers, Templates, launch_record
from nearpeak.study.records import SCHEMA, Chosen, GroupRecord, LaunchRecord, StudyRecord

AXES = {"calls": "blocking", "reuse": "fixed"}
STATE = {"reuse": "fixed", "touch": "none"}
CHOSEN = Chosen(benchmark="latency", axes=AXES)


def samples(**changes: Any) -> SamplesRecord:
    usual: dict[str, Any] = {
        "launch": 0,
        "benchmark": "latency",
        "metric": "latency",
        "size_bytes": 8,
        "buffers": "H,H",
        "axes": AXES,
        "method": None,
        "unit": "us",
        "better": "lower",
        "samples": [1.0],
        "batch": 1,
        "kept_every": 1,
        "iterations": 1,
        "warmup_iterations": 1,
        "first_use_us": 1.0,
        "window": 1,
        "seconds": 0.1,
    }
    return SamplesRecord(**usual | changes)


def problem(size: int, status: Any = "skipped", benchmark: str = "latency") -> ProblemRecord:
    return ProblemRecord(
        launch=0,
        benchmark=benchmark,
        size_bytes=size,
        buffers="H,H",
        axes=AXES,
        status=status,
        message="",
    )


def environment(
    *cpus: Any, launch: int = 0, devices: Any = (), library: str | None = None
) -> EnvironmentRecord:
    ranks: list[dict[str, Any]] = [
        {"rank": rank, "host": "h", "cpus": cpu} for rank, cpu in enumerate(cpus)
    ]
    for entry, uuid in zip(ranks, devices, strict=False):
        entry["device"] = {"uuid": uuid}
    return EnvironmentRecord(
        launch=launch,
        program="",
        version="",
        library_version=library,
        ranks=ranks,
        clock={},
        env={},
    )


@pytest.fixture
def plan(standins: ModuleType) -> Any:
    """One launch a block, of a library: latency at 8 and 100 bytes."""
    made = standins.small_plan(launches=2)
    made.launches = [launch for launch in made.launches if launch.role == "mpi"]
    return made


def record(plan: Any, block: int = 0) -> LaunchRecord:
    """How the first launch of a block begins."""
    return launch_record(plan, plan.block(block)[0], 0, "run", "now")


def begun(plan: Any) -> Answers:
    answers = Answers(plan)
    answers.check(record(plan))
    return answers


def test_everything_is_owed_until_it_is_answered(plan: Any) -> None:
    answers = begun(plan)
    assert answers.lacking() == NO_PLACE
    answers.check(environment([0], [1]))
    assert answers.lacking().startswith("2 of the 2 cases that it was to measure are missing")
    answers.check(samples())
    assert answers.lacking() == (
        "1 of the 2 cases that it was to measure are missing, latency latency of 100 bytes first"
    )
    answers.check(problem(100))
    assert answers.lacking() == ""
    # The next launch owes all of it again.
    answers.check(record(plan, 1))
    answers.check(environment([0], [1]))
    assert answers.lacking().startswith("2 of the 2 cases")


def test_a_benchmark_owes_all_its_metrics_and_no_size_below_its_smallest(
    standins: ModuleType,
) -> None:
    plan = standins.small_plan(paths=(standins.wide_path(2),), benchmarks=("mbw_mr",))
    plan.sizes = [0, 8]
    first = next(launch for launch in standins.small_plan().launches if launch.role == "mpi")
    plan.launches = [msgspec.structs.replace(first, path=plan.paths[0].id)]
    answers = begun(plan)
    answers.check(environment([0], [1]))
    assert answers.lacking().startswith("2 of the 2 cases")
    answers.check(
        samples(benchmark="mbw_mr", metric="mbw", unit="GB/s", better="higher", samples=[2.0])
    )
    assert "mbw_mr mr of 8 bytes first" in answers.lacking()
    answers.check(problem(8, "wrong data", "mbw_mr"))  # of a case is of all its metrics
    assert answers.lacking() == ""


def test_what_has_no_sizes_owes_one_answer_of_0_bytes(plan: Any) -> None:
    plan.benchmarks = [
        msgspec.structs.replace(benchmark, sized=False) for benchmark in plan.benchmarks
    ]
    answers = begun(plan)
    answers.check(environment([0], [1]))
    with pytest.raises(ValueError, match="size 8 was not asked for"):
        answers.check(samples())
    assert answers.lacking().startswith("1 of the 1 cases")
    answers.check(samples(size_bytes=0))
    assert answers.lacking() == ""


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"benchmark": "lateness"}, "lateness .* was not asked for"),
        ({"buffers": "D,D"}, "was not asked for"),
        ({"axes": {"calls": "nonblocking"}}, "was not asked for"),
        ({"metric": "bw"}, "latency has no metric bw"),
        ({"size_bytes": 9}, "size 9 was not asked for"),
        ({"unit": "GB/s"}, "latency is not of GB/s"),
        ({"better": "higher"}, "latency is not of us, higher better"),
        ({"verified": False}, "not verified"),
        ({"samples": []}, "no samples"),
        ({"samples": [1.0, -1.0]}, "a sample below zero"),
        ({"samples": [1.0, float("inf")]}, "a sample below zero"),
        ({"launch": 1}, "it belongs to launch 1, which never began"),
    ],
)
def test_what_was_not_asked_for_is_no_answer(plan: Any, changes: Any, why: str) -> None:
    answers = begun(plan)
    answers.check(environment([0], [1]))
    with pytest.raises(ValueError, match=why):
        answers.check(samples(**changes))
    assert answers.lacking().startswith("2 of the 2 cases")


def test_an_answer_comes_once(plan: Any) -> None:
    answers = begun(plan)
    answers.check(samples())
    with pytest.raises(ValueError, match="latency of 8 bytes was measured twice"):
        answers.check(samples())


def test_axes_that_a_program_leaves_out_have_their_defaults(plan: Any) -> None:
    given = samples(axes={})
    begun(plan).check(given)
    assert given.axes == AXES


def test_where_a_launch_ran(plan: Any) -> None:
    for cpus, where in (
        (([0], [1]), ""),
        (([0], [7]), "rank 1 ran on CPUs [7], wanted [1]"),
        (([0],), "rank 1 ran on host None, wanted that of rank 0, h"),
    ):
        answers = begun(plan)
        answers.check(environment(*cpus))
        assert answers.misplaced == where
        with pytest.raises(ValueError, match="it said too often where it ran"):
            answers.check(environment([0], [1]))
        assert answers.misplaced == where
    with pytest.raises(msgspec.ValidationError):
        begun(plan).check(environment([0], "all"))


def test_which_library_a_launch_ran_with(plan: Any) -> None:
    for library, where in (
        ("Fake 1", ""),
        ("Fake 2, built on monday\n", "it ran with Fake 2, built on monday, wanted Fake 1"),
    ):
        answers = begun(plan)
        answers.check(environment([0], [1], library=library))
        assert answers.misplaced == where


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"launch": -1}, "launch -1 is not of block 0"),
        ({"block": -1}, "launch 0 is not of block -1"),
        ({"library": "other"}, "launch 0 is none of the plan's: other on host-host same-numa"),
        ({"path": "nowhere"}, "launch 0 is none of the plan's"),
        ({"role": "ceiling"}, "launch 0 is none of the plan's"),
        ({"adapter": "mlx5_0:1"}, "launch 0 is none of the plan's"),
        ({"groups": []}, "launch 0 is none of the plan's"),
        (
            {"groups": [GroupRecord(buffers="D,D", axes=STATE, benchmarks=[CHOSEN])]},
            "launch 0 is none of the plan's: fake on host-host same-numa with D,D latency",
        ),
        (
            {"groups": [GroupRecord(axes={"reuse": "single"}, benchmarks=[CHOSEN])]},
            "launch 0 is none of the plan's",
        ),
        ({"groups": [GroupRecord(axes=STATE, benchmarks=[])]}, "launch 0 is none of the plan's"),
    ],
)
def test_a_launch_is_the_plans(plan: Any, changes: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Answers(plan).check(msgspec.structs.replace(record(plan), **changes))


def test_what_was_added_is_of_no_block_before(plan: Any) -> None:
    begin = record(plan)
    plan.launches = [msgspec.structs.replace(launch, since=1) for launch in plan.launches]
    with pytest.raises(ValueError, match="launch 0 is not of block 0"):
        Answers(plan).check(begin)
    begin.block = 1
    Answers(plan).check(begin)


def test_a_launch_is_known_by_what_it_measures_in_any_order(standins: ModuleType) -> None:
    plan = standins.small_plan(benchmarks=("latency", "bw", "bibw"))
    find = Templates(plan).index_of
    for block in range(4):
        for planned in plan.block(block):
            begin = launch_record(plan, planned, 0, "run", "now")
            assert find(begin) == planned.template
            [group] = begin.groups
            begin.groups = [_with(group, group.benchmarks[::-1])]
            assert find(begin) == planned.template
            if group.benchmarks:
                begin.groups = [_with(group, group.benchmarks[:1])]  # what is left of it
                assert find(begin) == planned.template
                begin.groups = [_with(group, [*group.benchmarks, group.benchmarks[0]])]
                with pytest.raises(ValueError, match="is none of the plan's"):
                    find(begin)


def _with(group: GroupRecord, benchmarks: list[Chosen]) -> GroupRecord:
    return msgspec.structs.replace(group, benchmarks=benchmarks)


def test_each_group_of_a_launch_says_where_its_ranks_ran(standins: ModuleType) -> None:
    near = standins.gpu_path("host-gpu near")
    variants = [Variant(benchmark="bw", axes=AXES, buffers=buffers) for buffers in ("H,D", "D,H")]
    plan = make_plan(
        Options(launches=2, sizes=[8]),
        [standins.contender()],
        variants,
        [near],
        standins.BENCHMARKS,
    )
    planned = next(launch for launch in plan.block(0) if launch.role == "mpi")
    answers = Answers(plan)
    answers.check(launch_record(plan, planned, 0, "run", "now"))
    for group in planned.groups:
        wanted = wanted_place(plan, planned, group)
        place = environment(*wanted.cpus, launch=0, devices=wanted.devices)
        answers.check(place)
        assert answers.misplaced == ""
        shape = {"benchmark": "bw", "metric": "bw", "unit": "GB/s", "better": "higher"}
        other = {"H,D": "D,H", "D,H": "H,D"}[group.buffers]
        with pytest.raises(ValueError, match="was not asked for"):
            answers.check(samples(launch=0, buffers=other, **shape))
        answers.check(samples(launch=0, buffers=group.buffers, **shape))
    assert answers.lacking() == ""
    with pytest.raises(ValueError, match="it said too often where it ran"):
        answers.check(place)


def test_a_record_of_another_study(plan: Any) -> None:
    first = StudyRecord(schema=SCHEMA, id="other", nearpeak="0", started="now", seed=1)
    with pytest.raises(ValueError, match="two different studies"):
        Answers(plan).check(first)


def test_the_plateau_is_an_answer_of_ceilings_alone(standins: ModuleType) -> None:
    made = standins.small_plan(launches=2)
    made.plateaus = {"host-host same-numa": 4096}
    for planned in made.block(0):
        answers = Answers(made)
        answers.check(launch_record(made, planned, 0, "run", "now"))
        ceiling = planned.role == "ceiling"
        record = samples(
            launch=0,
            size_bytes=4096,
            axes={"reuse": "fixed"} if ceiling else AXES,
            method="ring" if ceiling else None,
        )
        if ceiling:
            answers.check(record)
        else:
            with pytest.raises(ValueError, match="4096 was not asked for"):
                answers.check(record)
