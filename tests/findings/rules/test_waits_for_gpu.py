# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for the GPU."""

from typing import Any


def test_a_fifth_of_a_message_is_told(by_hand: Any) -> None:
    waits = [
        by_hand.part("sync", "cuStreamSynchronize", 15.0),
        by_hand.part("sync", "cuEventQuery", 5.0, count=3.0),
    ]
    assert len(by_hand.told("waits_for_gpu", by_hand.explained(*waits))) == 2
    assert by_hand.told("waits_for_gpu", by_hand.explained(*waits[:1])) == []


def test_what_another_rank_may_do_meanwhile_is_told(by_hand: Any) -> None:
    waits = [
        by_hand.part("sync", "cuStreamSynchronize", 40.0, others_us=39.0),
        by_hand.part("sync", "cuEventQuery", 20.0, others_us=0.0),
        by_hand.part("sync", "cuStreamQuery", 10.0),  # as of explanations from before it was kept
    ]
    assert by_hand.told("waits_for_gpu", by_hand.explained(*waits)) == [
        "cuStreamSynchronize by rank 1: 40.0 µs, 40.0 % of 100 µs, in 97.5 % of which another rank"
        " may be at work by its own instructions",
        "cuEventQuery by rank 1: 20.0 µs, 20.0 % of 100 µs",
        "cuStreamQuery by rank 1: 10.0 µs, 10.0 % of 100 µs",
    ]


def test_waiting_for_others_is_not(by_hand: Any) -> None:
    waits = by_hand.part("wait", "sched_yield", 90.0)
    assert by_hand.told("waits_for_gpu", by_hand.explained(waits)) == []
