# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Handles of memory that are asked for again and again."""

from typing import Any


def test_a_tenth_of_a_message_is_told(by_hand: Any) -> None:
    handle = by_hand.part("call", "cuMemGetHandleForAddressRange", 9.0, count=4.0, mean_us=2.25)
    close = by_hand.part("call", "close", 3.0)
    assert by_hand.told("dma_buf", by_hand.explained(handle, close)) == [
        "4 x cuMemGetHandleForAddressRange by rank 1: 2.25 µs each, 9.00 % of 100 µs",
        "close by rank 1: 3.00 µs, 3.00 % of 100 µs",
    ]


def test_less_and_other_files_are_not(by_hand: Any) -> None:
    handle = by_hand.part("call", "cuMemGetHandleForAddressRange", 9.0)
    assert by_hand.told("dma_buf", by_hand.explained(handle)) == []
    assert by_hand.told("dma_buf", by_hand.explained(by_hand.part("call", "close", 50.0))) == []
