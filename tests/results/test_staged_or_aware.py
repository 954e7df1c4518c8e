# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""The size from which device buffers are faster than copies by the application."""

from typing import Any

import pytest

from nearpeak.results.results import Cell
from nearpeak.results.staged_or_aware import find
from nearpeak.terms.identity import Who


@pytest.fixture
def make(by_hand: Any) -> Any:
    """A cell of latency between GPUs: staged through that memory, or not."""

    def cell(us: float, x: int, staging: str = "none", **more: Any) -> Cell:
        return by_hand.make_cell("latency", us, x=x, staging=staging, noise=0, **more)

    return cell


def curve(make: Any, aware: dict[int, float], copied: dict[int, float]) -> list[Cell]:
    """Latencies by size, with device buffers and with copies through pinned memory."""
    return [
        *(make(us, x) for x, us in aware.items()),
        *(make(us, x, "pinned") for x, us in copied.items()),
    ]


def test_the_size_from_which_device_buffers_are_faster(make: Any) -> None:
    cells = curve(make, {8: 20.0, 4096: 20.0, 65536: 20.0}, {8: 10.0, 4096: 30.0, 65536: 80.0})
    (found,) = find(cells)
    assert (found.who, found.curve.axes) == (cells[0].who, {})
    assert found.aware_from == 4096
    assert [(each.x, each.faster.value) for each in found.sizes] == [
        (8, 0.5),
        (4096, 1.5),
        (65536, 4.0),
    ]
    assert {(each.staging, each.carrier, each.blocks) for each in found.sizes} == {
        ("pinned", cells[0].who, 6)
    }


def test_copies_that_are_faster_at_a_larger_size_move_it_up(make: Any) -> None:
    cells = curve(make, {8: 5.0, 4096: 20.0, 65536: 20.0}, {8: 10.0, 4096: 10.0, 65536: 80.0})
    assert [found.aware_from for found in find(cells)] == [65536]
    assert [found.aware_from for found in find(cells[1:2] + cells[4:5])] == [None]


def test_an_interval_that_meets_one_is_not_faster(by_hand: Any) -> None:
    make = by_hand.make_cell
    aware = make("latency", 10.0, staging="none", noise=0.3)
    copied = make("latency", 11.0, staging="pinned", noise=0)
    assert [found.aware_from for found in find([aware, copied])] == [None]


def test_the_fastest_copies_of_the_same_library_stand_beside_it(make: Any) -> None:
    own = [make(30.0, 8, "pageable"), make(20.0, 8, "pinned")]
    another = make(5.0, 8, "pinned", library="mpich")
    (found,) = find([make(10.0, 8), another, *own])
    assert [(each.faster.value, each.staging) for each in found.sizes] == [(2.0, "pinned")]
    (found,) = find([make(10.0, 8), another])
    assert [(each.faster.value, each.carrier) for each in found.sizes] == [(0.5, Who("mpich"))]


def test_other_windows_and_blocks_are_not_compared(by_hand: Any) -> None:
    make = by_hand.make_cell
    aware, copied = make("bw", 10.0, staging="none"), make("bw", 5.0, staging="pinned")
    assert find([aware, copied])
    copied.window = 1
    assert not find([aware, copied])
    assert not find([copied])
