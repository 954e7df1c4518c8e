# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Puts and gets against messages."""

from typing import Any

import pytest


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
