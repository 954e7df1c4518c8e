# SPDX-License-Identifier: Apache-2.0
"""Cells: sums with known answers, and what launches that went wrong do to them."""

from typing import Any

import pytest

from nearpeak.results import names
from nearpeak.results.cells import FAILED

MakeStudy = Any


def numbers(blocks: list[Any]) -> list[int]:
    """Of one session."""
    assert {block.session for block in blocks} == {0}
    return [block.number for block in blocks]


def test_the_sums_of_a_cell(make_study: MakeStudy) -> None:
    study = make_study()
    medians = [5.0, 3.0, 4.0, 1.0, 2.0, 6.0]
    for block, value in enumerate(medians):
        study.launch(block, "alpha", "bw", {1024: value})
    cell = study.cell("bw", 1024)
    assert cell.launch_medians == medians
    assert numbers(cell.blocks) == [0, 1, 2, 3, 4, 5]
    assert cell.median == 3.5
    assert cell.ci95 == pytest.approx((1.357, 5.643), abs=1e-3)
    assert cell.half_width == pytest.approx(2.143 / 3.5, abs=1e-3)
    assert cell.range == (1.0, 6.0)
    assert cell.minimum == 0.98
    assert (cell.p05, cell.p95) == (1.0, 6.0)
    assert cell.first_use_us == 5.0
    assert (cell.unit, cell.better, cell.window, cell.launches) == ("GB/s", "higher", 64, 6)
    assert cell.case.axes == {"calls": "blocking", "reuse": "fixed"}
    assert cell.status == "no ceiling"
    assert cell.flags == ["imprecise"]
    assert cell.command == "run alpha bw #5"


def test_a_cell_has_the_window_of_its_own_size(make_study: MakeStudy) -> None:
    study = make_study()
    number = study.launch(0, "alpha", "bw")
    for size, window in ((1024, 64), (16 * 2**20, 4)):
        study.records.insert(
            -1, study.samples("bw", size, [1.0] * 11, launch=number, window=window)
        )
    assert study.cell("bw", 1024).window == 64
    assert study.cell("bw", 16 * 2**20).window == 4


def test_outliers_are_labelled_and_kept(make_study: MakeStudy) -> None:
    study = make_study()
    number = study.launch(0, "alpha", "bw")
    values = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 2.0]
    study.records.insert(-1, study.samples("bw", 8, values, launch=number))
    cell = study.cell("bw", 8)
    assert cell.outlier_share == pytest.approx(0.1)
    assert cell.minimum == 2.0


def test_few_launches_have_a_range_and_no_interval(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(5):
        study.launch(block, "alpha", "bw", {1024: 4.0 + block / 100})
    cell = study.cell()
    assert cell.ci95 is None
    assert cell.range == (4.0, 4.04)
    assert cell.flags == ["few launches"]
    apart = make_study()
    for block, value in enumerate((56.0, 60.0, 1688.0)):
        apart.launch(block, "alpha", "bw", {1024: value})
    assert apart.cell().flags == ["few launches", "imprecise"]


def test_launch_medians_stand_in_block_order(make_study: MakeStudy) -> None:
    study = make_study()
    for block in (2, 0, 1):
        study.launch(block, "alpha", "bw", {1024: 1.0 + block})
    cell = study.cell()
    assert numbers(cell.blocks) == [0, 1, 2]
    assert cell.launch_medians == [1.0, 2.0, 3.0]


def test_cells_stand_in_the_order_of_the_plan(make_study: MakeStudy) -> None:
    study = make_study("zeta", "alpha")
    for library in ("alpha", "zeta"):
        for benchmark in ("bw", "latency"):
            study.launch(0, library, benchmark, {1024: 1.0, 8: 1.0})
    order = [(c.who.library, c.case.benchmark, c.case.x) for c in study.results().cells]
    assert order == [
        (library, benchmark, size)
        for library in ("zeta", "alpha")
        for benchmark in ("latency", "bw")  # as the plan's variants
        for size in (8, 1024)
    ]


def test_bimodal_launches_show_both_modes_and_what_differs(make_study: MakeStudy) -> None:
    study = make_study()
    for block, value in enumerate([4.0, 8.0, 4.01, 8.01, 4.02, 4.0]):
        bound = {"BOUND": "far" if value < 5 else "near"}
        study.launch(block, "alpha", "bw", {1024: value}, environment=bound)
    cell = study.cell()
    assert "bimodal" in cell.flags
    low, high = cell.modes
    assert (low.median, low.share, numbers(low.blocks)) == (
        pytest.approx(4.005),
        4 / 6,
        [0, 2, 4, 5],
    )
    assert (high.median, high.share, numbers(high.blocks)) == (pytest.approx(8.005), 2 / 6, [1, 3])
    assert (low.conditions, high.conditions) == ({"env BOUND": "far"}, {"env BOUND": "near"})


def test_modes_of_near_and_far_cpus(make_study: MakeStudy) -> None:
    study = make_study()
    values = [4.0, 8.0, 4.01, 8.01, 4.02, 4.0]
    distances = [300.0, 60.0, 310.0, 90.0, 340.0, 300.0]
    for block, value in enumerate(values):
        study.launch(block, "alpha", "bw", {1024: value})
    measured = [record for record in study.records if hasattr(record, "cache_line_ns")]
    for record, distance in zip(measured, distances, strict=True):
        record.cache_line_ns = [distance]
    cell = study.cell()
    assert cell.cache_line_ns == distances
    low, high = cell.modes
    name = "cache line between the CPUs"
    assert (low.conditions[name], high.conditions[name]) == ("300 to 340 ns", "60 to 90 ns")
    measured[1].cache_line_ns = [320.0]  # of the upper mode
    assert all(name not in mode.conditions for mode in study.cell().modes)


def test_a_launch_counts_against_the_case_that_it_ended_in_alone(make_study: MakeStudy) -> None:
    study = make_study("alpha")
    for block in range(6):
        study.launch(block, "alpha", "latency", {8: 1.0, 1024: 2.0, 4096: 3.0})
    number = study.launch(6, "alpha", "latency", {8: 1.0}, status=None)
    study.begins(number, "latency", 8)
    study.begins(number, "latency", 4096)
    study.end(number, "crashed")
    results = study.results()
    cells = {cell.case.x: cell for cell in results.cells}
    assert {x: cell.failed for x, cell in cells.items()} == {8: 0, 1024: 0, 4096: 1}
    assert (cells[1024].status, cells[4096].status) == ("no ceiling", "crashed")
    [failure] = results.failures
    assert (failure.benchmarks, failure.x) == (["latency"], 4096)


@pytest.mark.parametrize("status", ["crashed", "hung"])
def test_a_launch_that_went_wrong_names_the_cells_that_it_did_not_reach(
    make_study: MakeStudy, status: str
) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0})
    study.launch(1, "alpha", "bw", {8: 1.0}, status=status)
    results = study.results()
    reached = study.find(results, "bw", 8, "alpha")
    assert (reached.status, reached.launches) == ("no ceiling", 2)
    lost = study.find(results, "bw", 1024, "alpha")
    assert (lost.status, lost.launches, lost.median) == (status, 1, 2.0)
    assert (lost.failed, reached.failed) == (1, 0)
    assert names.status(lost) == f"{status} in 1 of 2 launches"
    assert lost.command == "run alpha bw #0"  # the last good one
    (failure,) = results.failures
    assert (failure.status, failure.log) == (status, f"logs/{failure.launch}.txt")
    assert failure.message == f"invented: {status}"


def test_a_crash_is_not_blamed_on_the_benchmarks_after_it(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "latency", {8: 1.0, 1024: 2.0})
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0})
    study.launch(1, "alpha", "latency", {8: 1.0}, status="crashed", then=("bw",))
    statuses = {(c.case.benchmark, c.case.x): c.status for c in study.results().cells}
    assert statuses == {
        ("latency", 8): "no ceiling",
        ("latency", 1024): "crashed",  # where it ended
        ("bw", 8): "no ceiling",
        ("bw", 1024): "no ceiling",
    }


def test_what_no_launch_came_to_goes_by_what_stopped_it(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "latency", {8: 1.0, 1024: 2.0})
    study.launch(1, "alpha", "latency", {8: 1.0}, status="crashed", then=("bw",))
    cell = study.cell("bw", 8)
    assert (cell.status, cell.failed) == ("crashed", 1)
    assert study.results().failures[0].benchmarks == ["latency", "bw"]


def test_a_library_that_always_fails_has_cells_without_numbers(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    study.launch(0, "alpha", "latency", {8: 1.0, 1024: 2.0})
    study.launch(0, "beta", "latency", status="crashed")
    cell = study.cell("latency", 1024, "beta")
    assert (cell.status, cell.median, cell.launches) == ("crashed", None, 0)
    assert cell.case.axes == {"calls": "blocking", "reuse": "fixed"}  # those of the other library
    assert (cell.unit, cell.better, cell.case.metric) == ("us", "lower", "latency")
    assert cell.command == "run beta latency #1"


def test_when_everything_failed_the_units_come_from_the_plan(make_study: MakeStudy) -> None:
    study = make_study()
    study.sizes = [0, 8]
    study.launch(0, "alpha", "latency", status="hung")
    study.launch(0, "alpha", "bw", status="hung")
    cells = study.results().cells
    assert [(c.case.benchmark, c.case.x, c.unit, c.better) for c in cells] == [
        ("latency", 0, "us", "lower"),
        ("latency", 8, "us", "lower"),
        ("bw", 8, "GB/s", "higher"),  # a rate of nothing is no case
    ]


def test_the_worst_of_several_failures_names_the_cell(make_study: MakeStudy) -> None:
    study = make_study()
    for block, status in enumerate(["hung", "crashed", "failed"]):
        study.launch(block, "alpha", "bw", status=status)
    assert (study.cell().status, study.cell().failed) == ("crashed", 1)
    assert names.status(study.cell()) == "crashed"  # nothing is left of it


def test_wrong_data_takes_all_numbers_of_the_cell_away(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0})
    number = study.launch(1, "alpha", "bw", {8: 1.0, 1024: 2.0}, status=None)
    study.problem(number, "bw", 1024, "wrong data")
    study.end(number, "wrong data")
    results = study.results()
    bad = study.find(results, "bw", 1024, "alpha")
    assert (bad.status, bad.median, bad.launches) == ("wrong data", None, 0)
    assert bad.ci95 is bad.range is bad.fraction is None
    good = study.find(results, "bw", 8, "alpha")
    assert (good.status, good.launches) == ("no ceiling", 2)
    assert [failure.status for failure in results.failures] == ["wrong data"]


def test_wrong_data_that_nobody_can_place_spoils_the_whole_launch(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0}, status="wrong data")
    results = study.results()
    assert {(cell.status, cell.median) for cell in results.cells} == {("wrong data", None)}


def test_a_failed_launch_is_not_believed(make_study: MakeStudy) -> None:
    """It ran, but not as was asked: on other CPUs, say."""
    study = make_study()
    study.launch(0, "alpha", "bw", {1024: 2.0})
    study.launch(1, "alpha", "bw", {1024: 9.0}, status="failed")
    cell = study.cell()
    assert (cell.status, cell.launch_medians) == ("failed", [2.0])


def test_interrupted_launches_are_no_failures(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {1024: 2.0}, status="interrupted")
    results = study.results()
    assert results.failures == []
    (cell,) = results.cells  # and no cell for what was not reached
    assert (cell.status, cell.median) == ("no ceiling", 2.0)


def test_skipped_cases_are_told_once(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(3):
        number = study.launch(block, "alpha", "bw", {8: 1.0}, status=None)
        study.problem(number, "bw", 1024, "skipped")
        study.end(number, "ok")
    results = study.results()
    assert study.find(results, "bw", 1024, "alpha").status == "skipped"
    assert results.failures == []
    (skip,) = results.skipped
    assert (skip.who.library, skip.benchmark, skip.sizes) == ("alpha", "bw", [1024])
    assert skip.message == "invented reason"


def test_what_was_given_up_is_a_loss_with_the_time_that_it_takes_at_least(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    for block, us in enumerate((5612.0, 5600.0)):
        number = study.launch(block, "alpha", "latency", {8: 1.0}, status=None)
        study.problem(number, "latency", 1024, "aborted: too slow", at_least=us)
        study.end(number, "ok")
    results = study.results()
    cell = study.find(results, "latency", 1024, "alpha")
    assert (cell.median, cell.at_least, cell.status) == (None, 5600.0, "aborted: too slow")
    assert cell.status in FAILED
    assert names.status(cell) == ">= 5600 µs, aborted: too slow"
    assert results.failures == []
    assert results.skipped == []


def test_cases_that_were_cut_short_are_flagged(make_study: MakeStudy) -> None:
    study = make_study()
    number = study.launch(0, "alpha", "bw")
    study.records.insert(
        -1, study.samples("bw", 8, [1.0, 1.0], launch=number, limited="the slot was too short")
    )
    assert study.cell("bw", 8).flags == ["few launches", "few samples"]


def test_a_benchmark_that_can_have_no_ceiling_lacks_none(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(6):
        for library in study.libraries:
            study.launch(block, library, "allreduce", {8: 5.0, 1024: 9.0})
    results = study.results()
    assert {(c.status, c.fraction, c.unit) for c in results.cells} == {("ok", None, "us")}
    assert {c.case.benchmark for c in results.comparisons} == {"allreduce"}
    bound = next(rule for rule in results.checklist if "upper bound" in rule.rule)
    assert bound.state == "not applicable"


def test_a_problem_of_a_case_is_one_of_all_its_metrics(make_study: MakeStudy) -> None:
    study = make_study()
    number = study.launch(0, "alpha", "mbw_mr", status=None)
    study.problem(number, "mbw_mr", 8, "skipped")
    study.end(number, "ok")
    found = {(cell.case.metric, cell.status) for cell in study.results().cells}
    assert found == {("mbw", "skipped"), ("mr", "skipped")}


def test_a_rate_is_held_against_the_plateau_by_the_rule_of_fractions(make_study: MakeStudy) -> None:
    """The plateau of another size, of blocks with both; its median is that of the logarithms."""
    study = make_study()
    for block in range(6):
        rates = {("bw", "ring", 1024): 20.0, ("bw", "ring", 4096): 10.0 * 2**block}
        study.ceiling(block, rates | {("latency", "ring", 1024): 1.0})
        study.launch(block, "alpha", "bw", {1024: 5.0, 4096: 6.0})
        study.launch(block, "alpha", "latency", {1024: 2.0, 4096: 3.0})
    reached = study.cell("bw", 1024).of_plateau
    assert reached is not None
    assert (reached.x, reached.method, reached.blocks) == (4096, "ring", 6)
    assert reached.value == pytest.approx((40.0 + 80.0) / 2)
    assert reached.fraction == pytest.approx(5.0 / (40.0 * 2**0.5))  # no mean of 5/40 and 5/80
    assert reached.range == pytest.approx((5.0 / 320.0, 0.5))
    assert reached.ci95 is not None
    assert study.cell("latency", 1024).of_plateau is None


@pytest.mark.parametrize(
    ("benchmark", "own", "ceiling", "lost_us"),
    [
        ("latency", 10.0, 2.0, 8.0),
        ("bw", 2.0, 8.0, 0.512 - 0.128),
        ("bw", 8.0, 2.0, 0.0),
        ("bw", 2.0, None, None),
    ],
)
def test_an_operation_loses_what_it_takes_longer_than_at_the_ceiling(
    make_study: MakeStudy, benchmark: str, own: float, ceiling: float | None, lost_us: float | None
) -> None:
    study = make_study()
    for block in range(6):
        if ceiling:
            study.ceiling(block, {(benchmark, "ring", 1024): ceiling})
        study.launch(block, "alpha", benchmark, {1024: own})
    assert study.cell(benchmark).lost_us == pytest.approx(lost_us)


def test_sessions_whose_fractions_differ_are_told(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(12):
        if block == 6:
            study.session()
        carried = 10.0 if block < 6 else 20.0
        study.ceiling(block, {("bw", "ring", 1024): carried + block % 2})
        study.launch(block, "alpha", "bw", {1024: 5.0 + 0.01 * (block % 3)})
    cell = study.cell()
    assert cell.ci95 == pytest.approx((5.0, 5.02))
    assert cell.fraction_ci95[1] > 1.5 * cell.fraction_ci95[0]
    assert cell.flags == ["drift", "fractions apart"]


def test_two_sessions_that_differ_are_told_and_the_interval_spans_them(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    for block, value in enumerate([1.0, 1.01, 0.99, 1.02, 1.0, 1.01, 0.98]):
        study.launch(block, "alpha", "bw", {1024: value})
    assert "sessions apart" not in study.cell().flags
    study.session()
    study.launch(7, "alpha", "bw", {1024: 3.0})
    assert "sessions apart" not in study.cell().flags  # one launch does not tell
    study.launch(8, "alpha", "bw", {1024: 3.0})
    study.launch(9, "alpha", "bw", {1024: 3.0})
    cell = study.cell()
    assert cell.flags == ["imprecise", "sessions apart", "bimodal"]
    assert cell.ci95 is not None
    assert 0.98 <= cell.ci95[0] < 1.0
    assert cell.ci95[1] == 3.0
