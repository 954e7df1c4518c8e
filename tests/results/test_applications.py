# SPDX-License-Identifier: Apache-2.0
"""Applications, from observations made by hand (tests/observations/made_applications.py)."""

import io
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from nearpeak.console import PlainConsole
from nearpeak.report.applications import sections
from nearpeak.report.page import render
from nearpeak.report.terminal import print_details
from nearpeak.results.results import Application, Results
from nearpeak.terms.identity import CEILING
from nearpeak.terms.work import Work


def found(results: Results) -> Iterator[Application]:
    """Those on two ranks."""
    return (
        application for application in results.applications if len(application.cell.place.ends) == 2
    )


def test_what_the_time_is_made_of_and_no_cell_of_messages(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 1000.0)
    made.add(made_applications.TWO, "plane", "plane_rate", 2.0, 1000, axes=made_applications.AXES)
    results = made.results()
    assert results.cells == []
    [application] = results.applications
    assert (application.cell.median, application.rate, application.rate_unit) == (
        1000.0,
        2.0,
        "GLUP/s",
    )
    assert application.phases == {"compute": 800.0, "communicate": 200.0}
    assert application.messages_us == 30.0
    assert application.imbalance.value == pytest.approx(800 / 750)
    assert (
        application.roofline,
        application.scaled,
        application.beside,
        application.predicted_us,
    ) == (None, None, [], None)


def test_weak_and_strong_scaling_from_one_rank(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.ONE, 900.0)
    made.plane(made_applications.TWO, 1000.0)
    made.plane(made_applications.ONE, 900.0, scaling="strong")
    made.plane(made_applications.TWO, 500.0, scaling="strong")
    weak, strong = found(made.results())
    assert weak.scaled
    assert strong.scaled
    assert (weak.scaled.place, weak.scaled.scaling) == (made_applications.ONE.place, "weak")
    alone = [
        application
        for application in made.results().applications
        if len(application.cell.place.ends) == 1
    ]
    assert [row.imbalance for row in alone] == [None, None]
    assert weak.scaled.efficiency.value == pytest.approx(0.9)
    assert weak.scaled.efficiency.ci95 == pytest.approx((0.9, 0.9))
    assert strong.scaled.efficiency.value == pytest.approx(0.9)
    assert strong.scaled.scaling == "strong"
    assert strong.beside == []


def test_ratios_are_of_blocks_that_have_both(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, [1000.0, 1100.0, 1000.0])
    made.plane(made_applications.TWO, [500.0, 1000.0], overlap="yes")
    usual, overlapped = made.results().applications
    assert usual.beside == []
    [beside] = overlapped.beside
    assert (beside.axis, beside.value) == ("overlap", "no")
    assert beside.speedup.range == pytest.approx((1.1, 2.0))
    assert beside.speedup.ci95 is None


def test_what_is_hidden_is_of_blocks_with_one_after_the_other_and_each_alone(
    made_applications: Any,
) -> None:
    made = made_applications.Made()
    # More than both alone: they drive each other out of the caches.
    made.plane(made_applications.TWO, 1100.0)
    made.plane(made_applications.TWO, [1000.0, 1200.0, 1000.0], mode="async")
    made.plane(made_applications.TWO, 800.0, mode="nocomm")
    made.plane(made_applications.TWO, [200.0, 200.0], mode="nocomp")
    results = made.results()
    sync, both, *alone = results.applications
    assert sync.hidden is None
    # No logarithm could be taken of it.
    assert both.hidden.range == pytest.approx((-0.5, 0.5))
    assert both.hidden.value == pytest.approx(0.0)
    assert [(row.hidden, row.beside) for row in alone] == [(None, []), (None, [])]
    [against] = both.beside
    assert (against.axis, against.value) == ("mode", "sync")
    [section] = sections(results)
    assert "Hidden" in [column.title for column in section.table.columns]


@pytest.mark.parametrize("missing", ["sync", "nocomm", "nocomp"])
def test_nothing_is_known_to_be_hidden_without_what_it_is_held_against(
    made_applications: Any, missing: str
) -> None:
    made = made_applications.Made()
    for mode in {"sync", "async", "nocomm", "nocomp"} - {missing}:
        made.plane(made_applications.TWO, 900.0, mode=mode)
    assert [application.hidden for application in made.results().applications] == [None] * 3


def test_the_roofline_is_that_of_the_memory_all_ranks_share(made_applications: Any) -> None:
    made = made_applications.Made()
    made.add(made_applications.MEMORY, "copy", "copy", 20.0, 1 << 27, who=CEILING)
    made.plane(made_applications.ONE, 800.0)
    made.plane(made_applications.TWO, 1000.0)
    two, one = made.results().applications
    assert one.roofline
    assert two.roofline
    assert (one.roofline.us, one.roofline.fraction.value) == pytest.approx((400.0, 0.5))
    assert (two.roofline.us, two.roofline.fraction.value) == pytest.approx((800.0, 0.8))
    assert two.roofline.place == made_applications.MEMORY.place


def test_a_fraction_of_the_roofline_is_of_the_blocks_that_copied(made_applications: Any) -> None:
    made = made_applications.Made()
    made.add(made_applications.MEMORY, "copy", "copy", [20.0, 25.0, 16.0], 1 << 27, who=CEILING)
    made.plane(made_applications.TWO, 1000.0)
    [application] = made.results().applications
    assert application.roofline
    fraction = application.roofline.fraction
    assert (fraction.value, fraction.range) == (pytest.approx(0.8), pytest.approx((0.64, 1.0)))
    assert fraction.ci95 is None


def test_ranks_are_held_against_what_as_many_cores_copy(made_applications: Any) -> None:
    made = made_applications.Made()
    for threads, gbs in ((4, 40.0), (2, 36.0), (1, 10.0)):
        method = f"nt x{threads}"
        made.add(made_applications.MEMORY, "copy", "copy", gbs, 1 << 27, CEILING, method=method)
    three = made_applications.path("host x3", 3)
    made.paths.append(three)
    made.plane(made_applications.ONE, 1000.0)
    made.plane(made_applications.TWO, 1000.0)
    made.plane(three, 1000.0)
    gbs = {
        len(application.cell.place.ends): application.roofline.gbs
        for application in made.results().applications
        if application.roofline
    }
    # Of three the next number that was measured.
    assert gbs == {1: 10.0, 2: 36.0, 3: 40.0}


@pytest.mark.parametrize(("vendor", "held"), [("nvidia", True), ("amd", False), ("other", False)])
def test_cells_that_the_caches_of_a_vendors_gpus_may_hold_have_no_roofline(
    made_applications: Any, vendor: str, held: bool
) -> None:
    made = made_applications.Made(vendor=vendor)
    made.add(made_applications.SAME_GPU, "bw", "bw", 1000.0, 1 << 30, who=CEILING)
    made.plane(made_applications.GPU, 250.0, work=Work(copied_bytes=200_000_000))
    [application] = made.results().applications
    assert (application.roofline is not None) == held


def test_ranks_that_share_a_gpu_share_its_roofline_and_are_no_scaling(
    made_applications: Any,
) -> None:
    made = made_applications.Made()
    work = Work(copied_bytes=200_000_000)
    sharing = msgspec.structs.replace(
        made_applications.SAME_GPU, id="gpu-gpu same-gpu mps", mps=True
    )
    made.paths.append(sharing)
    made.add(made_applications.SAME_GPU, "bw", "bw", 1000.0, 1 << 30, who=CEILING)
    made.plane(made_applications.GPU, 250.0, work=work)
    made.plane(sharing, 500.0, work=work)
    by_path = {
        application.cell.place.path: application for application in made.results().applications
    }
    for row in by_path.values():
        assert row.roofline
        assert row.roofline.fraction.value == pytest.approx(0.8)
        assert (row.scaled, row.imbalance) == (None, None)


def test_ranks_that_share_a_gpu_are_no_base_of_scaling(made_applications: Any) -> None:
    made = made_applications.Made()
    many = made_applications.path("gpu x4", 4, gpu="")
    made.paths.append(many)
    made.plane(made_applications.SAME_GPU, 500.0)
    made.plane(many, 250.0)
    assert [application.scaled for application in made.results().applications] == [None, None]


def test_what_kernels_compute_beside_messages_is_not_taken_for_all_of_it(
    made_applications: Any,
) -> None:
    made = made_applications.Made()
    parts = {"exposed compute": 100.0, "communicate": 800.0}
    made.plane(made_applications.ONE, 900.0)
    made.plane(made_applications.TWO, 1000.0, parts=parts, mode="async")
    made.plane(made_applications.ONE, 1000.0, parts=parts, mode="async")
    results = made.results()
    [section] = sections(results)
    rows = [row for group in section.table.groups for row in group.rows]
    told = {row.head: (row.values.get("share"), row.values.get("efficiency")) for row in rows}
    assert told["1 x alpha"][0].value == pytest.approx(1 - 800 / 900)
    assert told["1 x alpha mode=async"] == (None, None)
    share, efficiency = told["2 x alpha mode=async"]
    assert share is None
    assert efficiency.value == pytest.approx(1.0)


def test_cells_that_may_stay_in_caches_have_no_roofline(made_applications: Any) -> None:
    made = made_applications.Made(cache_bytes=32 << 20)
    made.add(made_applications.MEMORY, "copy", "copy", 20.0, 1 << 27, who=CEILING)
    made.plane(made_applications.TWO, 1000.0)
    [application] = made.results().applications
    assert application.roofline is None


def test_a_copy_that_may_lie_in_caches_is_no_roofline_and_that_is_said(
    made_applications: Any,
) -> None:
    """Of arrays of 7 MiB in caches of 8 MiB."""
    made = made_applications.Made(cache_bytes=8 << 20)
    made.add(made_applications.MEMORY, "copy", "copy", 200.0, 7 << 20, who=CEILING)
    made.plane(made_applications.TWO, 1000.0)
    results = made.results()
    assert [application.roofline for application in results.applications] == [None]
    [section] = sections(results)
    told = "No roofline: the memory was copied in arrays of 7 MiB, which the caches may hold."
    assert told in section.sentences
    made.add(made_applications.MEMORY, "copy", "copy", 20.0, 1 << 27, who=CEILING)
    results = made.results()
    assert [
        application.roofline.gbs for application in results.applications if application.roofline
    ] == [20.0]
    assert told not in sections(results)[0].sentences


def test_messages_are_predicted_from_those_of_the_same_library(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 1000.0)
    made.add(made_applications.TWO, "latency", "latency", 1.0, 1000)
    made.add(made_applications.TWO, "latency", "latency", 100.0, 10_000)
    results = made.results()
    assert len(results.cells) == 2
    [application] = results.applications
    # 8000 B are at 0.903 of the way between both sizes, in logarithms.
    assert application.predicted_us == pytest.approx(100**0.90309, rel=1e-3)


def test_what_is_hidden_staged_or_far_larger_than_what_was_measured_is_not_predicted(
    made_applications: Any,
) -> None:
    made = made_applications.Made()
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000)
    made.plane(made_applications.TWO, 1000.0, overlap="yes")
    made.plane(made_applications.TWO, 1000.0, staging="pinned")
    made.plane(made_applications.TWO, 1000.0, scaling="strong", work=Work(messages=[40_000]))
    assert [application.predicted_us for application in made.results().applications] == [
        None,
        None,
        None,
    ]


def test_what_announces_messages_comes_before_them(made_applications: Any) -> None:
    made = made_applications.Made()
    made.add(made_applications.TWO, "latency", "latency", 1.0, 4)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000)
    made.plane(made_applications.TWO, 1000.0, work=Work(messages=[8000], announced_bytes=4))
    [application] = made.results().applications
    assert application.predicted_us == 11.0


def test_more_ranks_are_predicted_by_a_pair_among_them(made_applications: Any) -> None:
    made = made_applications.Made()
    made.paths.append(four := made_applications.path("host x4", 4))
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000)
    made.plane(four, 1000.0, work=Work(messages=[8000]))
    [application] = made.results().applications
    assert application.predicted_us == 10.0


def test_bytes_of_a_rank_to_itself_are_told_beside_a_prediction_that_is_off(
    made_applications: Any,
) -> None:
    made = made_applications.Made()
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000)
    work = Work(messages=[8000], own_bytes=64 << 10)
    made.plane(made_applications.TWO, 1000.0, work=work)
    results = made.results()
    assert results.applications[0].predicted_us == 10.0
    [section] = sections(results)
    told = (
        "took 30.0 µs, predicted 10.0 µs; a rank also sends 64 KiB to itself, which is not"
        " predicted."
    )
    assert section.sentences[-1].endswith(told)


def test_cells_that_no_cache_holds_are_told_beside_a_prediction_that_is_off(
    made_applications: Any,
) -> None:
    made = made_applications.Made()
    made.add(made_applications.MEMORY, "copy", "copy", 20.0, 1 << 27, who=CEILING)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000)
    made.plane(made_applications.TWO, 1000.0)
    [section] = sections(made.results())
    told = "its cells push its messages out of the caches"
    assert told in section.sentences[-1]


@pytest.mark.parametrize(
    ("there", "told"),
    [
        (
            {1000: 5.0, 9000: 10.0},
            "; its 8000 B lie between 1000 B (5.00 µs) and 9000 B (10.0 µs), which",
        ),
        ({1000: 9.0, 9000: 10.0}, "predicted 9.94 µs."),
        ({1000: 5.0, 8000: 10.0}, "predicted 10.0 µs."),
    ],
)
def test_what_lies_between_sizes_that_differ_is_told_beside_a_prediction_that_is_off(
    made_applications: Any, there: dict[int, float], told: str
) -> None:
    made = made_applications.Made()
    for size, us in there.items():
        made.add(made_applications.TWO, "latency", "latency", us, size)
    other = made_applications.path("host-host tcp-loopback", 2, "network")
    made.paths.append(other)
    made.add(other, "latency", "latency", 50.0, 7000)
    made.plane(made_applications.TWO, 1000.0)
    [section] = sections(made.results())
    assert told in section.sentences[-1]


@pytest.mark.parametrize(
    ("us", "predicted", "told"), [(1030.0, 10.0, True), (500.0, 10.0, False), (1030.0, 50.0, False)]
)
def test_a_pause_between_messages_of_device_memory_is_told_where_they_take_longer_than_predicted(
    made_applications: Any, us: float, predicted: float, told: bool
) -> None:
    made = made_applications.Made()
    made.add(made_applications.SAME_GPU, "latency", "latency", predicted, 8000)
    made.plane(made_applications.SAME_GPU, us)
    [section] = sections(made.results())
    assert ("1000 µs pass between its messages" in section.sentences[-1]) == told


def test_page_and_terminal_tell_of_them(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.ONE, 900.0)
    made.plane(made_applications.TWO, 1000.0)
    made.plane(made_applications.TWO, 950.0, overlap="yes")
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000)
    results = made.results()
    page = render(results)
    assert '<h2 id="applications">Applications</h2>' in page
    assert "plane, host x1" not in page  # that is the terminal's
    assert "<figcaption>host-host same-numa (H,H), side 1000 cells</figcaption>" in page
    assert 'style="width: 80.00%" title="compute: 800 µs"' in page
    shown = io.StringIO()
    print_details(results, PlainConsole(file=shown, width=200))
    text = " ".join(shown.getvalue().split())
    assert "plane, host-host same-numa (H,H), side 1000 cells" in text
    assert "2 x alpha overlap=yes" in text
    assert "1.05 times as fast as overlap=no [1.05, 1.05]" in text
    assert "The messages of 0 of 1 problem took what the study's own messages predict" in text
    assert "messages took 30.0 µs, predicted 10.0 µs." in text


def test_more_than_the_roofline_is_a_defect_of_the_ceiling(made_applications: Any) -> None:
    made = made_applications.Made()
    made.add(made_applications.MEMORY, "copy", "copy", 10.0, 1 << 27, who=CEILING)
    made.plane(made_applications.TWO, 1000.0)
    results = made.results()
    [application] = results.applications
    assert application.roofline
    assert application.roofline.fraction.value == pytest.approx(1.6)
    assert "(defect)" in render(results)
