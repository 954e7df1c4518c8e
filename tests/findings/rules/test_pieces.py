# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages in many pieces."""

from typing import Any


def copies(by_hand: Any, count: float = 2037.0, size: float = 8236.0, us: float = 20.0) -> Any:
    return [
        by_hand.part("device", "copy, pageable to device", 2.0, count=count, bytes=size),
        by_hand.part("call", "cuMemcpyAsync", us, count=count, bytes=size, mean_us=0.5),
        by_hand.part("sync", "cuStreamSynchronize", 1.0, count=count),
        by_hand.part("call", "close", 40.0, count=count),
    ]


def test_many_small_copies_are_told_with_the_calls_that_copy_and_wait(by_hand: Any) -> None:
    assert by_hand.told("pieces", by_hand.explained(*copies(by_hand))) == [
        "2,037 x cuMemcpyAsync of 8,236 B by rank 1: 0.500 µs each, 20.0 % of 100 µs",
        "2,037 x copy, pageable to device of 8,236 B for rank 1: 2.00 µs each, 2.00 % of 100 µs",
        "2,037 x cuStreamSynchronize by rank 1: 1.00 µs each, 1.00 % of 100 µs",
    ]


def test_few_or_large_ones_or_a_small_share_are_not(by_hand: Any) -> None:
    for how in ({"count": 8.0}, {"size": 508400.0}, {"us": 5.0}):
        assert by_hand.told("pieces", by_hand.explained(*copies(by_hand, **how))) == []
    calls = copies(by_hand)[1:]
    assert by_hand.told("pieces", by_hand.explained(*calls)) == []


def test_a_window_of_messages_of_one_copy_each_is_not(by_hand: Any) -> None:
    """As of bw: an iteration has 64 messages."""
    parts = copies(by_hand, count=64.0)
    window = by_hand.explained(*parts, leg="iteration", operations=64.0)
    assert by_hand.told("pieces", window) == []
    assert by_hand.told("pieces", by_hand.explained(*parts, leg="iteration", operations=1.0))
