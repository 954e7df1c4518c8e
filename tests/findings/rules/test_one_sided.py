# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Puts and gets against messages."""

from typing import Any

import pytest

from nearpeak.findings.find import find_in


@pytest.mark.parametrize(
    ("benchmark", "value", "messages", "of", "count"),
    [
        ("put_bw", 5.0, "bw", 20.0, 1),
        ("put_bw", 15.0, "bw", 20.0, 0),
        ("put_latency", 40.0, "latency", 10.0, 1),
        ("put_latency", 25.0, "latency", 10.0, 0),  # there, and the acknowledgement back
    ],
)
def test_slower_than_messages(
    by_hand: Any, benchmark: str, value: float, messages: str, of: float, count: int
) -> None:
    cells = [by_hand.make_cell(benchmark, value, win="created"), by_hand.make_cell(messages, of)]
    seen = by_hand.seen("one_sided", cells)
    assert [loss.other.case.benchmark for loss in seen] == [messages] * count


def test_what_is_lost_of_a_time_is_what_a_message_there_and_back_does_not_take(
    by_hand: Any,
) -> None:
    cells = [by_hand.make_cell("put_latency", 40.0), by_hand.make_cell("latency", 10.0)]
    (found,) = find_in(by_hand.view(cells))
    assert found.cost.lost_us == pytest.approx(20.0, rel=0.03)
    assert found.cost.ratio == pytest.approx(2.0, rel=0.03)


def test_a_get_is_held_against_the_way_of_its_data(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR}
    cells = [
        by_hand.make_cell("get_bw", 5.0, buffers="H,D", **where),
        by_hand.make_cell("bw", 50.0, buffers="H,D", **where),
        by_hand.make_cell("bw", 6.0, buffers="D,H", **where),
    ]
    assert not by_hand.seen("one_sided", cells)
    cells[2] = by_hand.make_cell("bw", 50.0, buffers="D,H", **where)
    assert len(by_hand.seen("one_sided", cells)) == 1


def test_only_of_buffers_that_are_used_alike(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("put_bw", 5.0, reuse="rotating"),
        by_hand.make_cell("bw", 20.0, reuse="fixed"),
    ]
    assert not by_hand.seen("one_sided", cells)


def put(by_hand: Any, value: float, **how: Any) -> Any:
    return by_hand.make_cell("put_bw", value, **{"win": "created", "sync": "flush"} | how)


def test_the_window_that_the_study_found_better_is_named(by_hand: Any) -> None:
    cells = [
        put(by_hand, 5.0),
        put(by_hand, 8.0, sync="fence"),
        put(by_hand, 12.0, win="allocated"),
        put(by_hand, 50.0, sync="flush_local"),  # not complete at the target
        put(by_hand, 60.0, win="allocated", launches=2),  # too few blocks
        by_hand.make_cell("bw", 20.0),
    ]
    worst = find_in(by_hand.view(cells))[0]
    tried = worst.remedy.tried
    assert worst.case.axes == {"win": "created", "sync": "flush"}
    assert (tried.axes, tried.unit, tried.blocks) == ({"win": "allocated"}, "GB/s", 6)
    assert tried.value == pytest.approx(12.0, rel=0.03)
    assert tried.ratio == pytest.approx(2.4, rel=0.03)


def test_a_window_is_named_where_a_version_before_knew_fewer_axes(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("put_bw", 1.0, x=by_hand.MIB, win="created", touch="none"),
        by_hand.make_cell("put_bw", 5.0, x=by_hand.MIB, win="allocated"),
        by_hand.make_cell("put_bw", 9.0, x=by_hand.MIB, win="shared", touch="sender"),
        by_hand.make_cell("bw", 10.0, x=by_hand.MIB),
    ]
    (found,) = find_in(by_hand.view(cells))
    assert (found.case.axes["win"], found.remedy.tried.axes) == ("created", {"win": "allocated"})


def test_no_window_is_named_that_is_not_better_in_all_blocks(by_hand: Any) -> None:
    cells = [put(by_hand, 5.0), put(by_hand, 5.01, win="allocated"), by_hand.make_cell("bw", 20.0)]
    cells[1].launch_medians[0] = 4.0
    assert all(found.remedy.tried is None for found in find_in(by_hand.view(cells)))


def test_where_blocks_differ_the_ratio_of_the_medians_is_told_too(by_hand: Any) -> None:
    """CPUs at two distances: messages are quick between the near ones, puts between the far."""
    cells = [put(by_hand, 5.0, noise=0.0), by_hand.make_cell("bw", 20.0, noise=0.0, launches=9)]
    cells[0].launch_medians[:] = [1.0, 1.0, 1.0, 9.0, 9.0, 9.0]
    cells[1].launch_medians[:6] = [20.0, 20.0, 20.0, 25.0, 25.0, 25.0]
    (finding,) = find_in(by_hand.view(cells))
    cost = finding.cost
    assert (cost.blocks, cost.launches) == (6, 9)
    assert cost.ratio == pytest.approx((20 * 25 / 9) ** 0.5)
    assert cost.of_medians == pytest.approx(22.5 / 5.0)
    cells[0].launch_medians[:] = [5.0] * 6
    (finding,) = find_in(by_hand.view(cells))
    assert finding.cost.of_medians is None
