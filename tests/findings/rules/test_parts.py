# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages that would be faster in parts."""

from typing import Any

import msgspec
import pytest

from nearpeak.machine.machine import Cache


def sizes(by_hand: Any, benchmark: str, part: float, whole: float, **how: Any) -> list[Any]:
    """Of 1 MiB and of four times that."""
    ceilings = how.pop("ceilings", (None, None))
    mib = by_hand.MIB
    return [
        by_hand.make_cell(benchmark, value, x=x, ceiling=ceiling, **how)
        for x, value, ceiling in ((mib, part, ceilings[0]), (4 * mib, whole, ceilings[1]))
    ]


def test_four_messages_are_faster_than_one(by_hand: Any) -> None:
    (loss,) = by_hand.seen("parts", sizes(by_hand, "latency", 100.0, 800.0))
    assert (loss.cell.case.x, loss.other.case.x) == (4 * by_hand.MIB, by_hand.MIB)
    assert loss.scaled == 4
    assert (loss.loss.better, loss.loss.ratio) == pytest.approx((400.0, 2.0), rel=0.05)


def test_a_rate_falls_with_the_size(by_hand: Any) -> None:
    (loss,) = by_hand.seen("parts", sizes(by_hand, "bw", 50.0, 20.0))
    assert (loss.scaled, loss.loss.ratio) == pytest.approx((1.0, 2.5), rel=0.05)


@pytest.mark.parametrize(
    ("benchmark", "part", "whole", "ceilings"),
    [
        ("latency", 100.0, 390.0, (None, None)),  # as it should be
        ("latency", 100.0, 560.0, (None, None)),  # by less than the limit
        ("latency", 100.0, 800.0, (10.0, 80.0)),  # larger ones leave the caches: the path, too
        ("bw", 50.0, 20.0, (100.0, 40.0)),
    ],
)
def test_what_is_no_finding(
    by_hand: Any, benchmark: str, part: float, whole: float, ceilings: Any
) -> None:
    cells = sizes(by_hand, benchmark, part, whole, ceilings=ceilings)
    assert not by_hand.seen("parts", cells)


def test_parts_have_one_size_and_make_up_the_whole(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 1.0, x=0),
        by_hand.make_cell("latency", 10.0, x=3000),
        by_hand.make_cell("latency", 100.0, x=4096),
    ]
    assert not by_hand.seen("parts", cells)


def test_parts_that_lie_in_a_nearer_cache_tell_nothing(by_hand: Any) -> None:
    part, whole = sizes(by_hand, "bw", 50.0, 20.0)
    part.lies_in = "shared cache"
    assert by_hand.seen("parts", [part, whole]) == []
    part.lies_in = "memory"
    assert len(by_hand.seen("parts", [part, whole])) == 1


@pytest.mark.parametrize(
    ("room_mib", "virtual", "told"), [(16, False, 1), (15, False, 0), (64, True, 0)]
)
def test_a_cache_that_is_shared_must_have_room_for_two_of_both(
    by_hand: Any, room_mib: int, virtual: bool, told: int
) -> None:
    caches = [Cache(level=3, kind="unified", size_bytes=room_mib * by_hand.MIB, cpus=[0, 1])]
    machine = msgspec.structs.replace(by_hand.MACHINE, caches=caches, virtual=virtual)
    cells = sizes(by_hand, "latency", 100.0, 800.0)
    for cell in cells:
        cell.lies_in = "shared cache"
    assert len(by_hand.seen("parts", cells, machine=machine)) == told


def test_where_the_bytes_lie_must_be_known(by_hand: Any) -> None:
    """Of collective operations, and between hosts, it is not."""
    cells = sizes(by_hand, "allreduce", 100.0, 800.0)
    assert len(by_hand.seen("parts", cells)) == 1
    for cell in cells:
        cell.lies_in = None
    assert by_hand.seen("parts", cells) == []
