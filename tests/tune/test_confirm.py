# SPDX-License-Identifier: Apache-2.0
"""What a study of a library as it is and as it was tuned says."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from nearpeak.results.results import Comparison
from nearpeak.terms.benchmarks import Axis, Benchmark, Metric, RankRule
from nearpeak.terms.identity import Who
from nearpeak.terms.left_out import LeftOut
from nearpeak.tune.confirm import Confirmed, HostCheck, judge, options
from nearpeak.tune.targets import Target

MakeStudy = Callable[..., Any]
PATH = "host-host same-numa"
TARGETS = [Target("latency", 8)]
KIB = 1024


def confirmed(
    make_study: MakeStudy,
    tuned: dict[int, float],
    crashes: bool = False,
    blocks: int = 8,
    far: tuple[range, float | dict[int, float]] = (range(0), 1.0),
    targets: list[Target] = TARGETS,
    scatter: tuple[dict[int, float], dict[int, float]] = ({}, {}),
    left_out: Sequence[LeftOut] = (),
    buffers: str = "H,H",
) -> Confirmed:
    """`tuned`: how long messages take with the settings, where they take 1 us for each size.
    `far`: blocks in which the CPUs are far apart, and how long they take there, or some of them.
    `scatter`: times as long in even and in odd blocks."""
    study = make_study("alpha", "alpha@tuned")
    near = tuned
    for block in range(blocks):
        first = len(study.records)
        there = far[1] if isinstance(far[1], dict) else dict.fromkeys(near, far[1])
        tuned = near | there if block in far[0] else near
        tuned = {x: us * scatter[block % 2].get(x, 1.0) for x, us in tuned.items()}
        noise = 1 + 0.01 * (block % 3)
        study.ceiling(block, {("latency", "flag", x): 0.2 for x in tuned})
        study.launch(block, "alpha", "latency", dict.fromkeys(tuned, noise))
        study.launch(block, "alpha", "bcast", {8: 1.0})
        study.launch(block, "alpha@tuned", "latency", {x: us * noise for x, us in tuned.items()})
        if crashes:
            study.launch(block, "alpha@tuned", "bcast", status="crashed")
        else:
            study.launch(block, "alpha@tuned", "bcast", {8: 1.0})
        for record in study.records[first:]:
            if hasattr(record, "cache_line_ns"):
                record.cache_line_ns = [300.0 + block if block in far[0] else 60.0 + block]
    results = study.results()
    results.left_out = list(left_out)
    paths = [PATH, "other"] if buffers == "H,H" else ["other", PATH]
    return judge(results, "alpha", "default", targets, paths, buffers)


def test_what_settings_for_device_buffers_do_to_host_messages_is_told(
    make_study: MakeStudy,
) -> None:
    found = confirmed(make_study, {KIB: 1.5, 8: 1.0}, buffers="D,D")
    assert [shown.before.case.x for shown in found.host_messages] == [8, KIB]
    assert found.host_messages[1].comparison.ratio == pytest.approx(1 / 1.5)
    assert confirmed(make_study, {8: 1.0}).host_messages == []  # those are the targets


def test_the_study_keeps_host_messages_too() -> None:
    targets = [Target("bw", 1 << 24)]
    found = options(
        "alpha", [], ["gpus", PATH], targets, ["bw"], 60.0, host=HostCheck(PATH, ["latency"])
    )
    assert found.benchmarks == ["bw", "latency"]
    assert (found.kept_paths, found.kept_benchmarks) == (["gpus", PATH], ["bw", "latency"])


def test_what_is_faster_and_costs_nothing_is_taken(make_study: MakeStudy) -> None:
    found = confirmed(make_study, {8: 0.5, KIB: 1.0})
    (target,) = found.targets
    assert target.label == f"{PATH}, latency H,H at 8 B"
    assert target.comparison.ratio == pytest.approx(2.0)
    assert (target.before.median, target.after.median) == (
        pytest.approx(1.01),
        pytest.approx(0.505),
    )
    assert (found.faster, found.everywhere, found.slower, found.broken) == (True, True, [], [])


def test_what_is_slower_elsewhere_is_taken_where_it_is_faster(make_study: MakeStudy) -> None:
    found = confirmed(make_study, {8: 0.5, KIB: 1.3})
    assert (found.faster, found.everywhere) == (True, False)
    assert [shown.label for shown in found.slower] == [f"{PATH}, latency H,H at 1 KiB"]


def test_what_is_slower_by_little_costs_nothing(make_study: MakeStudy) -> None:
    assert confirmed(make_study, {8: 0.5, KIB: 1.03}).everywhere


def test_a_target_that_is_slower_by_little_does_not_stand_against_another_that_is_faster(
    make_study: MakeStudy,
) -> None:
    both = [Target("latency", 8), Target("latency", KIB)]
    found = confirmed(make_study, {8: 0.04, KIB: 1.045}, targets=both)
    assert [shown.comparison.verdict for shown in found.targets] == ["faster", "slower"]
    assert (found.faster, found.everywhere, found.losing) == (True, True, [])
    found = confirmed(make_study, {8: 0.04, KIB: 1.3}, targets=both)
    assert [shown.before.case.x for shown in found.gaining] == [8]
    assert found.slower == found.losing
    assert (found.faster, found.everywhere) == (False, False)


def test_what_may_be_slower_is_counted(make_study: MakeStudy) -> None:
    wide = {KIB: 1.2}, {KIB: 0.8}
    found = confirmed(make_study, {8: 0.5, KIB: 1.0, 2 * KIB: 1.0}, scatter=wide)
    assert found.everywhere
    assert found.guarded == 3  # with bcast
    assert [shown.before.case.x for shown in found.uncertain] == [KIB]


def test_the_loss_that_launches_would_show_is_told(make_study: MakeStudy) -> None:
    """Launches that scatter alike show all that is more than the 5 % that are allowed."""
    found = confirmed(make_study, {8: 0.5, KIB: 1.0})
    assert found.detectable_loss == pytest.approx(0.05, abs=0.005)
    wide = dict.fromkeys((8, KIB), 1.02), dict.fromkeys((8, KIB), 0.98)
    less = confirmed(make_study, {8: 0.5, KIB: 1.0}, scatter=wide)
    assert less.detectable_loss is not None
    assert less.detectable_loss > 0.055
    assert confirmed(make_study, {8: 0.5, KIB: 1.0}, blocks=4).detectable_loss is None


def test_the_distances_of_the_cpus_are_told(make_study: MakeStudy) -> None:
    found = confirmed(make_study, {8: 0.5, KIB: 1.0})
    (own,) = found.distances[PATH]
    assert (own.low_ns, own.high_ns, own.launches) == (60.0, 67.0, 16)
    (at,) = found.targets[0].distances
    assert (at.low_ns, at.high_ns, at.launches) == (60.0, 67.0, 16)
    assert at.times == pytest.approx(2.0)
    assert at.slower is False


def test_a_few_launches_that_were_moved_are_not_told(make_study: MakeStudy) -> None:
    found = confirmed(make_study, {8: 0.5}, blocks=30, far=(range(29, 30), 0.5))
    assert [(at.low_ns, at.high_ns) for at in found.distances[PATH]] == [(60.0, 88.0)]
    assert len(found.targets[0].distances) == 1


def test_what_is_slower_between_far_cpus_is_taken_here_alone(make_study: MakeStudy) -> None:
    found = confirmed(make_study, {8: 0.5}, blocks=30, far=(range(24, 30), 1.5))
    assert (found.faster, found.everywhere, found.slower) == (True, False, [])
    (target,) = found.far
    near, far = target.distances
    assert (near.times, far.times) == (pytest.approx(2.0), pytest.approx(1 / 1.5))
    assert (near.slower, far.slower) == (False, True)
    assert (far.low_ns, far.high_ns, far.launches) == (324.0, 329.0, 12)


@pytest.mark.parametrize(("far_us", "everywhere"), [(1.1, True), (1.5, False)])
def test_few_launches_between_far_cpus_tell_of_large_losses_alone(
    make_study: MakeStudy, far_us: float, everywhere: bool
) -> None:
    found = confirmed(make_study, {8: 0.5}, blocks=30, far=(range(26, 30), far_us))
    assert (found.faster, found.everywhere) == (True, everywhere)
    assert found.targets[0].distances[1].ci95 == []


@pytest.mark.parametrize(("far_us", "price"), [(1.3, False), (1.7, True)])
@pytest.mark.parametrize("launches", [2, 7])
def test_what_is_guarded_is_judged_between_far_cpus_too(
    make_study: MakeStudy, far_us: float, price: bool, launches: int
) -> None:
    far = range(30 - launches, 30)
    found = confirmed(make_study, {8: 0.5, 64 * KIB: 0.5}, blocks=30, far=(far, {64 * KIB: far_us}))
    assert found.faster
    # Of seven there is an interval.
    expected = price or launches == 7
    assert bool(found.slower) == expected
    assert found.everywhere == (not expected)
    if expected:
        assert found.slower[0].label == f"{PATH}, latency H,H at 64 KiB"
        assert [at.slower for at in found.slower[0].distances] == [False, True]


def test_at_a_distance_at_which_no_block_has_both_medians_are_compared(
    make_study: MakeStudy,
) -> None:
    study = make_study("alpha", "alpha@tuned")
    for block in range(12):
        for which, (library, far) in enumerate(
            (("alpha", block in (0, 1, 2)), ("alpha@tuned", block in (3, 4, 5)))
        ):
            first = len(study.records)
            study.launch(block, library, "latency", {8: (1.0, 3.0 if far else 0.5)[which]})
            for record in study.records[first:]:
                if hasattr(record, "cache_line_ns"):
                    record.cache_line_ns = [300.0 if far else 60.0]
    found = judge(study.results(), "alpha", "default", TARGETS, [PATH], "H,H")
    near, far = found.targets[0].distances
    assert (near.times, near.slower) == (2.0, False)
    assert (far.times, far.ci95, far.slower) == (pytest.approx(1 / 3), [], True)
    assert not found.everywhere


@pytest.mark.parametrize(("far_us", "price"), [(2.0, False), (2.6, True)])
def test_a_single_launch_between_far_cpus_tells_of_twice_the_time(
    make_study: MakeStudy, far_us: float, price: bool
) -> None:
    study = make_study("alpha", "alpha@tuned")
    for block in range(12):
        for library, far, times in (
            ("alpha", block in (0, 1, 2), (1.0, 1.1)),
            ("alpha@tuned", block == 3, (0.5, far_us)),
        ):
            first = len(study.records)
            study.launch(block, library, "latency", {8: times[0], 64 * KIB: times[far]})
            for record in study.records[first:]:
                if hasattr(record, "cache_line_ns"):
                    record.cache_line_ns = [300.0 if far else 60.0]
    found = judge(study.results(), "alpha", "default", TARGETS, [PATH], "H,H")
    assert found.faster
    assert bool(found.slower) == price
    assert found.everywhere == (not price)


def test_what_is_not_faster_is_not_taken(make_study: MakeStudy) -> None:
    assert not confirmed(make_study, {8: 1.0, KIB: 1.0}).faster


def test_what_breaks_an_operation_is_not_taken(make_study: MakeStudy) -> None:
    found = confirmed(make_study, {8: 0.5}, crashes=True)
    assert not found.faster
    assert found.broken[0] == f"{PATH}, bcast: invented: crashed"


def test_too_few_launches_take_nothing(make_study: MakeStudy) -> None:
    assert not confirmed(make_study, {8: 0.5}, blocks=4).faster


def test_paths_of_which_too_little_is_known_are_told(make_study: MakeStudy) -> None:
    assert confirmed(make_study, {8: 0.5}).unguarded == ["other"]
    assert confirmed(make_study, {8: 0.5}, blocks=5).unguarded == [PATH, "other"]


def test_benchmarks_that_the_time_did_not_hold_are_told(make_study: MakeStudy) -> None:
    left_out = [
        LeftOut(
            kind="benchmark",
            name="bw",
            why="",
            benchmarks=["bw", "latency"],
            paths=[],
            budget_seconds=1.0,
            whole_seconds=2.0,
        )
    ]
    found = confirmed(make_study, {8: 0.5}, left_out=left_out)
    assert found.unguarded == [f"{PATH} (bw)", "other"]


def test_of_an_application_the_study_measures_its_problems() -> None:
    targets = [Target("jacobi2d", 1024, "cells"), Target("jacobi2d", 4096, "cells"), *TARGETS]
    found = options("alpha", [], [PATH], targets, ["latency"], 60.0)
    assert found.benchmarks == ["jacobi2d", "latency"]
    assert found.problem_sizes == ["jacobi2d=1K,4K"]
    assert (found.kept_sizes, 1024 in found.sizes) == ([8], False)
    assert found.kept_benchmarks == ["jacobi2d", "latency"]


def test_the_study_measures_targets_and_guards() -> None:
    found = options("alpha", [], [PATH, "other"], TARGETS, ["latency", "bw"], 60.0)
    assert found.benchmarks == ["latency", "bw"]
    assert found.paths == [PATH, "other"]
    assert (found.kept_paths, found.kept_sizes, found.kept_benchmarks) == (
        [PATH],
        [8],
        ["latency"],
    )
    assert found.kept_alone
    assert found.buffers == []
    kinds = ["P,D", "H,D", "D,H"]
    assert options("alpha", [], [PATH], TARGETS, [], 60.0, buffers=kinds).buffers == kinds


def test_a_window_in_a_device_is_created_and_a_target_all_the_same(
    make_study: MakeStudy, by_hand: Any
) -> None:
    """Its default value takes host memory alone."""
    study = make_study("intel", "intel@tuned")
    study.launch(0, "intel", "latency", {8: 1.0})
    results = study.results()
    win = Axis("win", ["allocated", "created"], "allocated", host_only=["allocated"])
    put = Benchmark(
        "put_latency", [Metric("put_latency", "us", "lower")], RankRule("exactly", 2), axes=[win]
    )
    results.benchmarks = [*results.benchmarks, put]
    path, old, new = by_hand.MPS.path, Who("intel"), Who("intel", "tuned")
    cell = by_hand.make_cell("put_latency", 1.0, library="intel", place=by_hand.MPS, win="created")
    results.cells = [cell, msgspec.structs.replace(cell, who=new)]
    results.failures = []
    results.comparisons = [
        Comparison(
            first=old,
            second=new,
            place=cell.place,
            case=cell.case,
            ratio=3.0,
            ci95=(2.9, 3.1),
            blocks=6,
            p_value=0.001,
            p_adjusted=0.01,
            verdict="faster",
        )
    ]
    found = judge(results, "intel", "default", [Target("put_latency", cell.case.x)], [path], "D,D")
    assert [shown.target for shown in found.targets] == [True]
    assert found.everywhere
