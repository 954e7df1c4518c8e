# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages in many pieces."""

from typing import Any


def test_more_than_eight_copies_on_the_gpu_are_told(by_hand: Any) -> None:
    copies = by_hand.part("device", "copy, pageable to device", 2.0, count=2037.0, bytes=8236.0)
    [told] = by_hand.told("pieces", by_hand.explained(copies))
    assert (
        told == "copy, pageable to device of 8,236 B for rank 1: 2,037 x 2.00 µs, 2.00 % of 100 µs"
    )


def test_few_copies_and_calls_are_not(by_hand: Any) -> None:
    few = by_hand.part("device", "copy, pageable to device", 2.0, count=8.0, bytes=8236.0)
    calls = by_hand.part("call", "cuMemcpyAsync", 2.0, count=2037.0, bytes=8236.0)
    assert by_hand.told("pieces", by_hand.explained(few, calls)) == []
