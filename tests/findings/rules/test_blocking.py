# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Blocking far below windowed: told where the ceilings do not explain it."""

from typing import Any

import msgspec
import pytest

from nearpeak.findings.rules import all_rules

LATENCY, BW = 26.0, 55.0  # the ceilings


def within(
    by_hand: Any,
    latency: float,
    bw: float,
    ceilings: tuple[float | None, float | None],
    calls: str = "nonblocking",
    **axes: str,
) -> list[Any]:
    where = {"x": by_hand.MIB}
    one, many = ceilings
    own = {"calls": "blocking", "reuse": "fixed", **axes}
    return [
        by_hand.make_cell("latency", latency, ceiling=one, **where, **own),
        by_hand.make_cell("bw", bw, ceiling=many, **where, calls=calls, reuse="fixed"),
    ]  # fmt: skip


def seen(by_hand: Any, cells: list[Any]) -> list[Any]:
    return list(by_hand.seen("blocking", cells))


def test_it_is_told_with_both_figures(by_hand: Any) -> None:
    (loss,) = seen(by_hand, within(by_hand, 1939.0, 53.0, (LATENCY, BW)))
    assert loss.cell.case.benchmark == "latency"
    assert loss.loss.ratio == pytest.approx(53.0 / (by_hand.MIB / 1939.0 / 1e3), rel=0.05)
    assert (loss.other.case.benchmark, loss.other.window) == ("bw", 64)
    assert loss.ceilings == pytest.approx(LATENCY / (by_hand.MIB / BW / 1e3))


@pytest.mark.parametrize(
    ("latency", "ceilings", "count"),
    [
        (84.0, (LATENCY, BW), 1),  # 4.4 times
        (84.0, (60.0, BW), 0),  # which the ceilings explain
        (84.0, (None, BW), 0),  # nothing is known of what is natural
        (50.0, (LATENCY, BW), 0),  # 2.6 times
    ],
)
def test_what_the_ceilings_explain_is_none(
    by_hand: Any, latency: float, ceilings: Any, count: int
) -> None:
    assert len(seen(by_hand, within(by_hand, latency, 55.0, ceilings))) == count


def test_only_the_same_axes_and_a_window_in_flight(by_hand: Any) -> None:
    assert not seen(by_hand, within(by_hand, 84.0, 55.0, (LATENCY, BW), reuse="rotating"))
    assert not seen(by_hand, within(by_hand, 84.0, 55.0, (LATENCY, BW), calls="blocking"))
    assert not seen(by_hand, within(by_hand, 84.0, 55.0, (LATENCY, BW), calls="persistent"))
    assert not seen(by_hand, within(by_hand, 84.0, 55.0, (LATENCY, BW), staging="pinned"))


def test_a_window_of_one_sided_operations_is_no_remedy_for_messages(by_hand: Any) -> None:
    latency, windowed = within(by_hand, 1939.0, 53.0, (LATENCY, BW))
    windowed.case = msgspec.structs.replace(
        windowed.case, benchmark="put_bw", metric="put_bw", axes={"win": "allocated"}
    )
    assert not seen(by_hand, [latency, windowed])


def test_blocks_that_scatter_too_much_prove_nothing(by_hand: Any) -> None:
    cells = within(by_hand, 84.0, 55.0, (LATENCY, BW))
    cells[1].launch_medians[:2] = [20.0, 20.0]
    assert not seen(by_hand, cells)


def test_the_limit_is_that_of_each_block(by_hand: Any) -> None:
    """A ceiling that is off in one block raises the limit there, and no other one."""
    cells = within(by_hand, 84.0, 55.0, (LATENCY, BW))  # 4.4 times
    view = by_hand.view(cells)
    ceiling = view.ceilings.point(cells[0].place, cells[0].case)
    ceiling.values[2] = 60.0  # there 3.1 times is natural
    (kind,) = [kind for kind in all_rules() if kind.name == "blocking"]
    (seen,) = kind.find(view)
    below = [block.number for block, beyond in seen.loss.beyond.items() if beyond < 0]
    assert below == [2]
    assert seen.ceilings == pytest.approx(LATENCY / (by_hand.MIB / BW / 1e3))


@pytest.mark.parametrize(("windowed", "count"), [("bw", 0), ("bibw", 1)])
def test_between_unlike_memories_a_rate_of_both_ways_tells(
    by_hand: Any, windowed: str, count: int
) -> None:
    """One way may be slow by nature, and the rate of the other one says nothing of it."""
    where = {"x": by_hand.MIB, "place": by_hand.NEAR, "buffers": "H,D"}
    cells = [
        by_hand.make_cell("latency", 155.0, ceiling=LATENCY, **where),
        by_hand.make_cell(windowed, 110.0, ceiling=110.0, **where),
    ]
    assert len(seen(by_hand, cells)) == count


def test_of_like_memories_a_rate_of_both_ways_is_no_better(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 155.0, x=by_hand.MIB, ceiling=LATENCY),
        by_hand.make_cell("bibw", 110.0, x=by_hand.MIB, ceiling=110.0),
    ]
    assert not seen(by_hand, cells)
