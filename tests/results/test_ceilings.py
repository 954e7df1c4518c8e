# SPDX-License-Identifier: Apache-2.0
"""Ceilings and fractions: the winning method, the pairing by block, and what has no fraction."""

from typing import Any

import msgspec
import pytest

from nearpeak.launching.program_records import SamplesRecord
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import of_plateau

MakeStudy = Any


def test_the_fraction_is_paired_by_block(make_study: MakeStudy) -> None:
    """A machine that is twice as fast in every other block: the fraction does not see it."""
    study = make_study()
    for block in range(6):
        speed = 1.0 + block % 2
        study.ceiling(
            block, {("bw", "ring", 1024): 10 * speed, ("latency", "flag", 1024): 1 / speed}
        )
        study.launch(block, "alpha", "bw", {1024: 6 * speed})
        study.launch(block, "alpha", "latency", {1024: 2 / speed})
    results = study.results()
    rate = study.find(results, "bw", 1024, "alpha")
    assert rate.status == "ok"
    assert rate.ceiling is not None
    assert (rate.ceiling.value, rate.ceiling.method) == (15.0, "ring")
    assert rate.fraction == pytest.approx(0.6)
    assert rate.fraction_ci95 == pytest.approx((0.6, 0.6))
    time = study.find(results, "latency", 1024, "alpha")
    assert time.fraction == pytest.approx(0.5)


def test_one_lucky_launch_does_not_make_a_method_win(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        lucky = 30.0 if block == 3 else 8.0
        study.ceiling(block, {("bw", "ring", 1024): 10.0, ("bw", "single copy", 1024): lucky})
        study.launch(block, "alpha", "bw", {1024: 5.0})
    results = study.results()
    cell = study.find(results, "bw", 1024, "alpha")
    assert cell.ceiling is not None
    assert cell.ceiling.method == "ring"
    assert cell.fraction_ci95 == pytest.approx((0.5, 0.5))
    (point,) = results.ceilings
    assert (point.method, point.value, len(point.values)) == ("ring", 10.0, 6)
    assert point.methods == {"ring": 10.0, "single copy": 8.0}
    assert point.ci95 == (10.0, 10.0)


def test_in_a_block_the_method_counts_that_is_best_in_the_other_half(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    first, second = [10.0, 14.0, 11.0, 14.0, 10.0, 14.0], [12.0] * 6
    for block in range(6):
        study.ceiling(block, {("bw", "a", 8): first[block], ("bw", "b", 8): second[block]})
        study.launch(block, "alpha", "bw", {8: 6.0})
    results = study.results()
    (point,) = results.ceilings
    assert point.method == "a"  # over all blocks
    assert point.values == [10.0, 12.0, 11.0, 12.0, 10.0, 12.0]
    assert point.stand_ins == {"b": [(0, 1), (0, 3), (0, 5)]}
    assert point.otherwise == [second, first]
    assert point.ci95[0] < 10.5 < 13.5 < point.ci95[1]
    low, high = study.find(results, "bw", 8, "alpha").fraction_ci95
    assert low < 6 / 13.5 < 6 / 10.5 < high


def test_in_a_block_the_size_of_the_plateau_is_that_of_the_other_half(
    make_study: MakeStudy,
) -> None:
    """Of two sizes that are alike the luckier one in each half counts for nothing there."""
    study = make_study()
    first, second = [14.0, 10.0, 14.0, 10.0, 14.0, 10.0], [11.0] * 6
    for block in range(6):
        study.ceiling(block, {("bw", "ring", 8): first[block], ("bw", "ring", 16): second[block]})
        study.launch(block, "alpha", "bw", {8: 6.0, 16: 6.0})
    results = study.results()
    cell = study.find(results, "bw", 8, "alpha")
    plateau = Ceilings(results.ceilings).plateau(cell.place, cell.case.curve, "higher")
    assert plateau is not None
    assert plateau.values == [11.0, 10.0, 11.0, 10.0, 11.0, 10.0]
    assert (plateau.value, plateau.case.x) == (10.5, 8)
    # Either size may be the best in truth: the interval spans both.
    assert plateau.ci95 is not None
    assert plateau.ci95[0] <= 10.0
    assert plateau.ci95[1] >= 11.0


def test_the_plateau_is_of_the_blocks_at_one_distance_of_the_cpus(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        carried = 10.0 if block < 2 else 30.0
        study.ceiling(block, {("bw", "ring", 8): carried / 2, ("bw", "ring", 16): carried})
        study.launch(block, "alpha", "bw", {8: 15.0, 16: 15.0})
    for record in study.records:
        if isinstance(record, SamplesRecord):
            record.cache_line_ns = [300.0 if record.samples[0] in (5.0, 10.0) else 60.0]
    reached = study.find(study.results(), "bw", 8, "alpha").of_plateau
    assert (reached.x, reached.fraction, reached.range, reached.blocks) == (16, 0.5, (0.5, 0.5), 4)


def test_the_plateau_of_host_memory_is_of_sizes_beyond_its_caches(make_study: MakeStudy) -> None:
    """Whichever sizes were asked for: what lies in caches is held against no plateau of memory."""
    study = make_study()
    for block in range(6):
        study.ceiling(block, {("bw", "ring", 8): 30.0, ("bw", "ring", 1 << 26): 10.0})
        study.launch(block, "alpha", "bw", {8: 6.0, 1 << 26: 5.0})
    results = study.results()
    small, large = (study.find(results, "bw", x, "alpha") for x in (8, 1 << 26))
    points = {point.case.x: point for point in results.ceilings}
    points[8].lies_in, points[1 << 26].lies_in = "core cache", "memory"
    plateau = Ceilings(results.ceilings).plateau(small.place, small.case.curve, "higher")
    assert plateau is not None
    assert (plateau.value, plateau.case.x) == (10.0, 1 << 26)
    assert of_plateau(small, points[8], plateau) is None
    reached = of_plateau(large, points[1 << 26], plateau)
    assert reached is not None
    assert reached.fraction == pytest.approx(0.5)
    # Where nothing else was measured, caches have a plateau too.
    points[1 << 26].lies_in = "shared cache"
    plateau = Ceilings(results.ceilings).plateau(small.place, small.case.curve, "higher")
    assert plateau is not None
    assert plateau.case.x == 8
    assert of_plateau(small, points[8], plateau) is not None


def test_a_winner_was_measured_in_most_blocks(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        lucky = {("bw", "rare", 1024): 30.0} if block < 3 else {}
        study.ceiling(block, {("bw", "ring", 1024): 10.0, **lucky})
        study.launch(block, "alpha", "bw", {1024: 5.0})
    results = study.results()
    (point,) = results.ceilings
    assert (point.method, len(point.values)) == ("ring", 6)
    assert point.methods == {"ring": 10.0, "rare": 30.0}
    assert study.find(results, "bw", 1024, "alpha").fraction == pytest.approx(0.5)


def test_a_block_without_the_winner_counts_with_what_it_has(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        best = {} if block == 3 else {("bw", "best", 1024): 30.0}
        study.ceiling(block, {("bw", "ring", 1024): 10.0, ("bw", "slow", 1024): 5.0, **best})
        study.launch(block, "alpha", "bw", {1024: 5.0})
    (point,) = study.results().ceilings
    assert (point.method, point.values) == ("best", [30.0, 30.0, 30.0, 10.0, 30.0, 30.0])
    assert point.ci95 is not None


def test_where_no_method_was_measured_in_most_blocks_the_best_wins(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        study.ceiling(block, {("bw", f"method {block % 2}", 1024): 10.0 + block % 2})
        study.launch(block, "alpha", "bw", {1024: 5.0})
    (point,) = study.results().ceilings
    assert (point.method, len(point.values)) == ("method 1", 3)


def test_methods_of_two_ceiling_launches_of_a_block_make_one_envelope(
    make_study: MakeStudy,
) -> None:
    """TCP and an RDMA adapter between the same hosts: each wins where it is better, for good."""
    study = make_study()
    for block in range(6):
        speed = 1.0 + block % 2
        lucky = 9.0 if block == 2 else 1.0
        tcp = {("bw", "spin", 8): 2.0, ("bw", "spin", 1024): 1.0 * lucky, ("latency", "spin", 8): 9}
        verbs = {("bw", "write", 8): 1.0, ("latency", "write", 8): 2 / speed}
        verbs |= {("bw", "write", 1024): 4 * speed, ("bw", "write-q2", 1024): 3 * speed}
        both = [(tcp, None), (verbs, "mlx5_0")]
        for cases, adapter in both if block % 3 else reversed(both):
            study.ceiling(block, cases, adapter=adapter)
        study.launch(block, "alpha", "bw", {8: 1.0, 1024: 2 * speed})
        study.launch(block, "alpha", "latency", {8: 4 / speed, 1024: 4 / speed})
    results = study.results()
    small, large = (study.find(results, "bw", size, "alpha") for size in (8, 1024))
    assert (small.ceiling.method, small.ceiling.value) == ("spin", 2.0)
    assert small.fraction_ci95 == pytest.approx((0.5, 0.5))
    assert (large.ceiling.method, large.ceiling.value) == ("write", 6.0)
    assert large.fraction_ci95 == pytest.approx((0.5, 0.5))  # paired with the same block's
    time = study.find(results, "latency", 8, "alpha")
    assert (time.ceiling.method, time.fraction) == ("write", pytest.approx(0.5))
    point = next(ceiling for ceiling in results.ceilings if ceiling.case.x == 1024)
    assert point.methods == {"spin": 1.0, "write": 6.0, "write-q2": 4.5}
    assert len(point.values) == 6


@pytest.mark.parametrize(("disturbed", "counts"), [(6.86, 25.5), (18.0, 18.0)])
def test_a_trial_far_below_what_its_launch_measured_does_not_count(
    make_study: MakeStudy, disturbed: float, counts: float
) -> None:
    study = make_study()
    for block in range(6):
        best = disturbed if block == 2 else 36.0
        study.ceiling(block, {("bw", "halves-nt", 8): best, ("bw", "halves", 8): 25.5})
        study.launch(block, "alpha", "bw", {8: 6.0})
    trials = [record for record in study.records if getattr(record, "method", "") == "halves-nt"]
    trials[2].trial = True
    (point,) = study.results().ceilings
    assert point.method == "halves-nt"
    assert point.values == [36.0, 36.0, counts, 36.0, 36.0, 36.0]
    assert point.stand_ins == ({"halves": [(0, 2)]} if counts == 25.5 else {})


def test_a_trial_of_the_winner_counts_as_it_is(make_study: MakeStudy) -> None:
    """Those that were measured in full there are the luckiest of the block."""
    study = make_study()
    for block in range(6):
        tried = "ce" if block == 2 else "sm"
        sm = 9.0 if block == 2 else 7.0
        values = {"ce": 8.0 if tried == "ce" else 10.0, "sm": sm, "sm-pull": 6.0}
        study.ceiling(block, {("bw", name, 1024): value for name, value in values.items()})
        for record in study.records[-4:-1]:
            if record.method in (tried, "sm-pull"):
                record.trial = True
        study.launch(block, "alpha", "bw", {1024: 4.5})
    (point,) = study.results().ceilings
    assert (point.method, point.value, point.stand_ins) == ("ce", 10.0, {})
    assert point.range == (8.0, 10.0)


def test_distances_of_cpus_are_those_of_the_method_that_counts(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(3):
        study.ceiling(block, {("bw", "ce", 1024): 10.0, ("bw", "sm", 1024): 5.0})
        won, other = study.records[-3:-1]
        won.cache_line_ns, other.cache_line_ns = [60.0 + block], [300.0]
        if block == 2:  # a trial measures no distance
            won.trial, won.cache_line_ns = True, []
    (point,) = study.results().ceilings
    assert (point.method, point.cache_line_ns) == ("ce", [60.0, 61.0, 300.0])


def test_the_best_latency_is_the_lowest(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("latency", "flag", 8): 0.2, ("latency", "pipe", 8): 3.0})
    study.launch(0, "alpha", "latency", {8: 0.4})
    cell = study.cell("latency", 8)
    assert cell.ceiling is not None
    assert cell.ceiling.method == "flag"
    assert cell.fraction == pytest.approx(0.5)


def test_blocks_without_a_ceiling_are_left_out_of_the_fraction(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("bw", "ring", 1024): 10.0})
    study.launch(0, "alpha", "bw", {1024: 5.0})
    study.launch(1, "alpha", "bw", {1024: 9.0})
    cell = study.cell()
    assert cell.fraction == pytest.approx(0.5)
    assert (cell.launches, cell.fraction_blocks) == (2, 1)
    assert cell.fraction_range == pytest.approx((0.5, 0.5))
    assert "fewer blocks" in cell.flags


def test_no_ceiling(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("bw", "ring", 8): 10.0})  # another size
    study.ceiling(1, {("bw", "ring", 1024): 10.0})  # another block
    study.ceiling(0, {("bibw", "ring", 1024): 10.0})  # another metric
    study.ceiling(0, {("bw", "ring", 1024): 10.0}, path="host-host cross-numa")
    study.launch(0, "alpha", "bw", {8: 5.0, 1024: 5.0})
    cell = study.cell()
    assert (cell.status, cell.ceiling, cell.fraction) == ("no ceiling", None, None)


@pytest.mark.parametrize(
    ("metric", "samples", "value"),
    [("bw", [5.0] * 6 + [10.0] * 4, 10.0), ("latency", [2.0] * 6 + [1.0] * 4, 1.0)],
)
def test_a_method_with_two_paces_is_a_ceiling_at_the_better_one(
    make_study: MakeStudy, metric: str, samples: list[float], value: float
) -> None:
    study = make_study()
    number = study.ceiling(0, {})
    study.records.insert(
        -1,
        study.samples(
            metric, 8, samples, launch=number, metric=metric, method="m", axes={"reuse": "fixed"}
        ),
    )
    study.launch(0, "alpha", metric, {8: value})
    cell = study.cell(metric, 8)
    assert cell.ceiling is not None
    assert cell.ceiling.value == value
    assert cell.fraction == pytest.approx(1.0)


def paced(study: Any, shares: list[int]) -> None:
    """Blocks of 20 samples, so many of them at 1 us and the others at 2; a library at 1.5."""
    for block, share in enumerate(shares):
        number = study.ceiling(block, {})
        samples = [1.0] * share + [2.0] * (20 - share)
        study.records.insert(
            -1,
            study.samples(
                "latency",
                8,
                samples,
                launch=number,
                metric="latency",
                method="m",
                axes={"reuse": "fixed"},
            ),
        )
        study.launch(block, "alpha", "latency", {8: 1.5})


def test_paces_are_judged_over_all_launches(make_study: MakeStudy) -> None:
    study = make_study()
    paced(study, [10, 12, 8, 10, 9, 3])
    results = study.results()
    (point,) = results.ceilings
    assert (point.values, point.otherwise, point.ci95) == ([1.0] * 6, [], (1.0, 1.0))
    assert [(pace.value, pace.launches) for pace in point.modes] == [(1.0, 6), (2.0, 6)]
    cell = study.find(results, "latency", 8, "alpha")
    assert cell.fraction_ci95 == pytest.approx((1 / 1.5, 1 / 1.5))


def test_where_paces_are_not_sure_intervals_span_both_answers(make_study: MakeStudy) -> None:
    study = make_study()
    paced(study, [9, 9, 9, 0, 0, 9])
    results = study.results()
    (point,) = results.ceilings
    assert (point.value, point.modes) == (2.0, [])
    assert point.otherwise == [[1.0, 1.0, 1.0, 2.0, 2.0, 1.0]]
    assert point.ci95 == (1.0, 2.0)
    cell = study.find(results, "latency", 8, "alpha")
    assert cell.fraction == pytest.approx(2 / 1.5)
    assert cell.fraction_ci95 == pytest.approx((1 / 1.5, 2 / 1.5))
    assert cell.status == "ok"  # above the ceiling, but not for sure


def test_another_method_may_win_by_the_other_answer(make_study: MakeStudy) -> None:
    study = make_study()
    paced(study, [9, 9, 9, 0, 0, 9])
    for block in range(6):
        study.ceiling(block, {("latency", "steady", 8): 1.8}, adapter="mlx5_0")
    (point,) = study.results().ceilings
    assert (point.method, point.value) == ("steady", 1.8)
    assert point.otherwise == [[1.0, 1.0, 1.0, 2.0, 2.0, 1.0]]
    assert point.ci95 == (1.0, 2.0)


def test_axes_that_both_have_must_agree(make_study: MakeStudy) -> None:
    study = make_study()
    number = study.ceiling(0, {})
    for reuse, value in (("rotating", 2.0), ("fixed", 4.0)):
        study.records.insert(
            -1,
            study.samples(
                "bw",
                1024,
                [value],
                launch=number,
                metric="bw",
                method="ring",
                axes={"reuse": reuse},
            ),
        )
    study.launch(0, "alpha", "bw", {1024: 1.0})  # reuse: fixed
    assert study.cell().fraction == pytest.approx(0.25)


def test_operations_that_share_a_wait_have_no_ceiling(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("latency", "flag", 8): 5.0})
    study.launch(0, "alpha", "latency", {8: 10.0})
    (point,) = study.results().ceilings
    for calls, holds in (("blocking", True), ("grouped", False), ("graph", False)):
        case = msgspec.structs.replace(point.case, axes={**point.case.axes, "calls": calls})
        assert (Ceilings([point]).point(point.place, case) is point) == holds


@pytest.mark.parametrize(
    ("buffers", "direction", "holds"),
    [("H,D", "both", True), ("H,D", "0to1", False), ("D,D", "0to1", True), ("D,H", "1to0", False)],
)
def test_between_unlike_memories_one_way_has_no_ceiling(
    make_study: MakeStudy, buffers: str, direction: str, holds: bool
) -> None:
    study = make_study()
    study.ceiling(0, {("latency", "ce", 8): 5.0})
    study.launch(0, "alpha", "latency", {8: 10.0})
    (point,) = study.results().ceilings
    point.case = msgspec.structs.replace(point.case, buffers=buffers)
    axes = {"calls": "blocking", "reuse": "fixed", "direction": direction}
    case = msgspec.structs.replace(point.case, axes=axes)
    assert (Ceilings([point]).point(point.place, case) is point) == holds
    assert Ceilings([point]).curve(point.place, case.curve) == [point] * holds


def test_pinned_and_managed_memory_have_the_ceiling_of_their_path(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("latency", "ce", 8): 5.0})
    study.launch(0, "alpha", "latency", {8: 10.0})
    (point,) = study.results().ceilings
    case = msgspec.structs.replace(point.case, buffers="P,H")
    assert Ceilings([point]).point(point.place, case) is point
    assert (
        Ceilings([point]).point(point.place, msgspec.structs.replace(case, buffers="M,H")) is None
    )


def test_above_the_ceiling_is_an_alarm(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("bw", "ring", 1024): 10.0, ("bw", "ring", 8): 10.0})
    study.launch(0, "alpha", "bw", {1024: 10.4, 8: 10.2})
    results = study.results()
    cell = study.find(results, "bw", 1024, "alpha")
    assert cell.status == "above ceiling"
    assert "above ceiling" in cell.flags
    assert cell.fraction == pytest.approx(1.04)
    assert study.find(results, "bw", 8, "alpha").status == "ok"  # within 3 %


def test_noise_above_the_ceiling_has_a_flag_and_is_no_defect(make_study: MakeStudy) -> None:
    study = make_study()
    for block, reached in enumerate([9.0, 10.2, 10.4, 10.5, 11.0, 12.0]):
        study.ceiling(block, {("bw", "ring", 1024): 10.0})
        study.launch(block, "alpha", "bw", {1024: reached})
    cell = study.find(study.results(), "bw", 1024, "alpha")
    assert cell.fraction > 1.03 > 1 > cell.fraction_ci95[0]
    assert "above ceiling" in cell.flags
    assert cell.status == "ok"


def test_nothing_has_no_rate(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(6):
        study.ceiling(block, {("bw", "ring", 0): 0.001, ("latency", "flag", 0): 0.1})
        for library in ("alpha", "beta"):
            study.launch(block, library, "bw", {0: 0.0})
            study.launch(block, library, "latency", {0: 0.2})
    results = study.results()
    rate = study.find(results, "bw", 0, "alpha")
    assert (rate.fraction, rate.ceiling, rate.status) == (None, None, "ok")
    assert study.find(results, "latency", 0, "alpha").fraction == pytest.approx(0.5)
    assert {c.case.benchmark for c in results.comparisons} == {"latency"}


def test_wrong_data_of_one_method_leaves_the_others(make_study: MakeStudy) -> None:
    study = make_study()
    number = study.ceiling(0, {("bw", "ring", 1024): 10.0, ("bw", "single copy", 1024): 99.0})
    end = study.records.pop()
    study.problem(number, "bw", 1024, "wrong data", method="single copy")
    study.records[-1].axes = {"reuse": "fixed"}
    study.records.append(end)
    study.launch(0, "alpha", "bw", {1024: 5.0})
    cell = study.cell()
    assert cell.ceiling is not None
    assert cell.ceiling.method == "ring"


def test_a_ceiling_counts_with_the_median_of_a_launch(make_study: MakeStudy) -> None:
    """As a library does: one that does what the ceiling does reaches 1."""
    study = make_study()
    samples = [8.0, 9.0, 10.0, 10.0, 10.5, 10.6, 10.7, 11.0, 12.0, 13.0, 9.5]
    for block in range(6):
        number = study.ceiling(block, {})
        study.records.insert(
            -1, study.samples("bw", 8, samples, launch=number, metric="bw", method="m", axes={})
        )
        number = study.launch(block, "alpha", "bw")
        study.records.insert(-1, study.samples("bw", 8, samples, launch=number))
    cell = study.cell("bw", 8)
    assert cell.ceiling is not None
    assert cell.ceiling.value == 10.5
    assert cell.fraction == 1.0


def test_both_paces_of_a_ceiling_are_told(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(2):
        number = study.ceiling(block, {("latency", "other", 8): 3.0})
        torn = [2.0] * 9 + [1.0] * (3 + 6 * block)
        study.records.insert(
            -1,
            study.samples("latency", 8, torn, launch=number, metric="latency", method="m", axes={}),
        )
    study.launch(0, "alpha", "latency", {8: 1.0})
    (point,) = [ceiling for ceiling in study.results().ceilings if ceiling.method == "m"]
    assert point.value == 1.0
    assert [(pace.value, pace.launches) for pace in point.modes] == [(1.0, 2), (2.0, 2)]
    assert [pace.share for pace in point.modes] == pytest.approx([0.375, 0.625])


def test_what_needs_more_than_a_library_has_makes_a_second_ceiling(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(2):
        study.ceiling(block, {("bw", "one", 8): 2.0, ("bw", "all", 8): 10.0})
        for record in study.records[-3:]:
            if getattr(record, "method", "") == "all":
                record.needs = ["window"]
        study.launch(block, "alpha", "bw", {8: 1.0})
    results = study.results()
    (point,) = results.ceilings
    assert (point.method, point.value, point.needs) == ("all", 10.0, {"all": ["window"]})
    assert (point.attainable.method, point.attainable.value) == ("one", 2.0)
    assert point.by_library == 2.0
    cell = study.find(results, "bw", 8, "alpha")
    assert cell.fraction == pytest.approx(0.1)
    assert cell.fraction_attainable == pytest.approx(0.5)
    assert cell.attainable.value == 2.0


def test_there_is_one_ceiling_where_a_library_can_attain_it(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(2):
        study.ceiling(block, {("bw", "one", 8): 10.0, ("bw", "all", 8): 9.0})
        study.ceiling(block, {("bw", "all", 1024): 9.0})
        for record in study.records:
            if getattr(record, "method", "") == "all":
                record.needs = ["gpu"]
        study.launch(block, "alpha", "bw", {8: 1.0, 1024: 1.0})
    results = study.results()
    for point in results.ceilings:
        assert point.attainable is None  # at 1024 nobody knows what a library can attain
    cell = study.find(results, "bw", 8, "alpha")
    assert (cell.attainable, cell.fraction_attainable) == (None, None)
    assert cell.by_library == cell.ceiling


@pytest.mark.parametrize(("trials", "told"), [(1, False), (2, True)])
def test_what_a_library_can_attain_by_short_trials_is_marked(
    make_study: MakeStudy, trials: int, told: bool
) -> None:
    study = make_study()
    for block in range(4):
        study.ceiling(block, {("bw", "one", 8): 8.0, ("bw", "all", 8): 10.0})
        for record in study.records[-3:]:
            if getattr(record, "method", "") == "all":
                record.needs = ["gpu"]
            elif getattr(record, "method", "") == "one":
                record.trial = block < trials
        study.launch(block, "alpha", "bw", {8: 1.0})
    results = study.results()
    (point,), (headline,) = results.ceilings, results.headlines
    assert (point.attainable.by_trials, headline.attainable.by_trials) == (told, told)
    assert not headline.ceiling.by_trials


def test_what_a_library_can_attain_is_above_the_ceiling_in_no_block(make_study: MakeStudy) -> None:
    """Methods are chosen by other blocks: the better one there may be the worse one here."""
    study = make_study()
    for block in range(6):
        one = 12.0 if block == 1 else 8.0
        study.ceiling(block, {("bw", "one", 8): one, ("bw", "all", 8): 10.0})
        study.records[-2].needs = ["gpu"]
        study.launch(block, "alpha", "bw", {8: 1.0})
    (point,) = study.results().ceilings
    assert (point.values[1], point.attainable.values[1]) == (10.0, 10.0)
    assert point.attainable.value == 8.0


def test_a_defect_is_judged_against_what_the_hardware_carries(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        study.ceiling(block, {("bw", "one", 8): 2.0, ("bw", "all", 8): 10.0})
        study.records[-2].needs = ["gpu"]
        study.launch(block, "alpha", "bw", {8: 5.0})
    cell = study.find(study.results(), "bw", 8, "alpha")
    assert (cell.status, cell.fraction_attainable) == ("ok", pytest.approx(2.5))


def test_each_metric_of_a_benchmark_has_its_own_ceiling(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(2):
        study.ceiling(block, {("mbw", "ring", 8): 4.0, ("mr", "ring", 8): 0.5})
        number = study.launch(block, "alpha", "mbw_mr")
        for metric, value in (("mbw", 2.0), ("mr", 0.4)):
            record = study.samples("mbw_mr", 8, [value], launch=number, metric=metric)
            study.records.insert(-1, record)
    results = study.results()
    cells = {cell.case.metric: cell for cell in results.cells}
    assert list(cells) == ["mbw", "mr"]  # in their order
    assert (cells["mbw"].fraction, cells["mbw"].unit) == (0.5, "GB/s")
    assert (cells["mr"].fraction, cells["mr"].unit) == (0.8, "M/s")
    assert {cell.status for cell in results.cells} == {"ok"}
