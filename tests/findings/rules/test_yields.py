# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Ranks that give their core away."""

from typing import Any


def test_a_third_of_a_message_is_told(by_hand: Any) -> None:
    given = by_hand.part("wait", "sched_yield", 30.0, count=60.0, mean_us=0.5)
    assert by_hand.told("yields", by_hand.explained(given)) == [
        "60 x sched_yield by rank 1: 0.500 µs each, 30.0 % of 100 µs"
    ]


def test_less_and_other_waiting_is_not(by_hand: Any) -> None:
    assert by_hand.told("yields", by_hand.explained(by_hand.part("wait", "poll", 90.0))) == []
    less = by_hand.part("wait", "sched_yield", 29.0)
    assert by_hand.told("yields", by_hand.explained(less)) == []
