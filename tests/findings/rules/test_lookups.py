# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Pointers that are looked up again and again."""

from typing import Any


def test_what_takes_a_tenth_together_is_told(by_hand: Any) -> None:
    parts = [
        by_hand.part("call", "cuPointerGetAttributes", 6.0),
        by_hand.part("call", "cuCtxPushCurrent_v2", 5.0),
        by_hand.part("call", "cuMemcpyAsync", 50.0),
    ]
    assert len(by_hand.told("lookups", by_hand.explained(*parts))) == 2
    assert by_hand.told("lookups", by_hand.explained(*parts[1:])) == []
