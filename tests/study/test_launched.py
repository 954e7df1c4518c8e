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
from nearpeak.planning.plan import PlannedLaunch
from nearpeak.study.launched import Launched
from nearpeak.study.templates import launch_record

AXES = {"calls": "blocking", "reuse": "fixed"}


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


def begun(plan: Any, planned: PlannedLaunch | None = None) -> Launched:
    """A launch, by default the first one, that begins."""
    planned = planned or plan.block(0)[0]
    record = launch_record(plan, planned, 0, "run", "now", 0)
    return Launched(plan, record, planned.template, planned.groups)


def test_everything_is_owed_until_it_is_answered(plan: Any) -> None:
    launched = begun(plan)
    assert launched.lacking() == NO_PLACE
    launched.take(environment([0], [1]))
    assert launched.lacking().startswith("2 of the 2 cases that it was to measure are missing")
    launched.take(samples())
    assert launched.lacking() == (
        "1 of the 2 cases that it was to measure are missing, latency latency of 100 bytes first"
    )
    launched.take(problem(100))
    assert launched.lacking() == ""


def test_a_benchmark_owes_all_its_metrics_and_no_size_below_its_smallest(
    standins: ModuleType,
) -> None:
    plan = standins.small_plan(paths=(standins.wide_path(2),), benchmarks=("mbw_mr",))
    plan.sizes = [0, 8]
    first = next(launch for launch in standins.small_plan().launches if launch.role == "mpi")
    plan.launches = [msgspec.structs.replace(first, path=plan.paths[0].id)]
    launched = begun(plan)
    launched.take(environment([0], [1]))
    assert launched.lacking().startswith("2 of the 2 cases")
    launched.take(
        samples(benchmark="mbw_mr", metric="mbw", unit="GB/s", better="higher", samples=[2.0])
    )
    assert "mbw_mr mr of 8 bytes first" in launched.lacking()
    launched.take(problem(8, "wrong data", "mbw_mr"))  # of a case is of all its metrics
    assert launched.lacking() == ""


def test_what_has_no_sizes_owes_one_answer_of_0_bytes(plan: Any) -> None:
    plan.benchmarks = [
        msgspec.structs.replace(benchmark, sized=False) for benchmark in plan.benchmarks
    ]
    launched = begun(plan)
    launched.take(environment([0], [1]))
    with pytest.raises(ValueError, match="size 8 was not asked for"):
        launched.take(samples())
    assert launched.lacking().startswith("1 of the 1 cases")
    launched.take(samples(size_bytes=0))
    assert launched.lacking() == ""


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
    ],
)
def test_what_was_not_asked_for_is_no_answer(plan: Any, changes: Any, why: str) -> None:
    launched = begun(plan)
    launched.take(environment([0], [1]))
    with pytest.raises(ValueError, match=why):
        launched.take(samples(**changes))
    assert launched.lacking().startswith("2 of the 2 cases")


def test_an_answer_comes_once(plan: Any) -> None:
    launched = begun(plan)
    launched.take(samples())
    with pytest.raises(ValueError, match="latency of 8 bytes was measured twice"):
        launched.take(samples())


def test_axes_that_a_program_leaves_out_have_their_defaults(plan: Any) -> None:
    given = samples(axes={})
    begun(plan).take(given)
    assert given.axes == AXES


def test_where_a_launch_ran(plan: Any) -> None:
    for cpus, where in (
        (([0], [1]), ""),
        (([0], [7]), "rank 1 ran on CPUs [7], wanted [1]"),
        (([0],), "rank 1 ran on host None, wanted that of rank 0, h"),
    ):
        launched = begun(plan)
        launched.take(environment(*cpus))
        assert launched.misplaced == where
        with pytest.raises(ValueError, match="it said too often where it ran"):
            launched.take(environment([0], [1]))
        assert launched.misplaced == where
    with pytest.raises(msgspec.ValidationError):
        begun(plan).take(environment([0], "all"))


def test_which_library_a_launch_ran_with(plan: Any) -> None:
    for library, where in (
        ("Fake 1", ""),
        ("Fake 2, built on monday\n", "it ran with Fake 2, built on monday, wanted Fake 1"),
    ):
        launched = begun(plan)
        launched.take(environment([0], [1], library=library))
        assert launched.misplaced == where


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
    launched = begun(plan, planned)
    for group in planned.groups:
        wanted = wanted_place(plan, planned, group)
        place = environment(*wanted.cpus, launch=0, devices=wanted.devices)
        launched.take(place)
        assert launched.misplaced == ""
        shape = {"benchmark": "bw", "metric": "bw", "unit": "GB/s", "better": "higher"}
        other = {"H,D": "D,H", "D,H": "H,D"}[group.buffers]
        with pytest.raises(ValueError, match="was not asked for"):
            launched.take(samples(launch=0, buffers=other, **shape))
        launched.take(samples(launch=0, buffers=group.buffers, **shape))
    assert launched.lacking() == ""
    with pytest.raises(ValueError, match="it said too often where it ran"):
        launched.take(place)


def test_the_plateau_is_an_answer_of_ceilings_alone(standins: ModuleType) -> None:
    made = standins.small_plan(launches=2)
    made.plateaus = {"host-host same-numa": 4096}
    for planned in made.block(0):
        launched = begun(made, planned)
        ceiling = planned.role == "ceiling"
        record = samples(
            launch=0,
            size_bytes=4096,
            axes={"reuse": "fixed"} if ceiling else AXES,
            method="ring" if ceiling else None,
        )
        if ceiling:
            launched.take(record)
        else:
            with pytest.raises(ValueError, match="4096 was not asked for"):
                launched.take(record)
