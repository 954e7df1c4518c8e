# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for the GPU."""

from typing import Any

import pytest
from msgspec.structs import replace


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


WAIT = ("sync", "cuStreamSynchronize", 40.0)
TO_HOST, TO_GPU = "copy, device to pageable", "copy to another GPU"


@pytest.mark.parametrize(
    ("size", "copy", "text"),
    [
        (
            8,
            TO_HOST,
            "Send larger messages or several at a time, or let the CPU move small ones (GDRCopy).",
        ),
        (4096, TO_GPU, "Send larger messages or several at a time."),  # by CUDA IPC
        (16 << 20, TO_HOST, "Send several such messages at a time, with nonblocking calls."),
        (8, "", ""),
    ],
)
def test_the_advice_fits_the_route(by_hand: Any, size: int, copy: str, text: str) -> None:
    copies = [by_hand.part("device", copy, 2.0, bytes=float(size))] if copy else []
    message = by_hand.explained(by_hand.part(*WAIT), *copies, size=size)
    (found,) = by_hand.signs("waits_for_gpu", message)
    assert found.remedy == text


def test_ranks_that_take_turns_are_advised_of_mps(by_hand: Any) -> None:
    message = replace(by_hand.explained(by_hand.part(*WAIT)), path="gpu-gpu same-gpu")
    (path,) = by_hand.EXPLAINED["paths"]
    paths = [replace(path, id=message.path)]
    (found,) = by_hand.signs("waits_for_gpu", message, paths=paths)
    assert found.remedy == "Measure it under MPS: without it, ranks on one GPU take turns."


def test_waits_for_many_pieces_are_left_to_the_rule_of_pieces(by_hand: Any) -> None:
    wait = by_hand.part(*WAIT, count=2037.0)
    copies = by_hand.part("device", TO_HOST, 2.0, count=2037.0, bytes=8236.0)
    assert by_hand.told("waits_for_gpu", by_hand.explained(wait, copies)) == []
    assert len(by_hand.told("pieces", by_hand.explained(wait, copies))) == 2
    other = by_hand.part("sync", "cuEventSynchronize", 40.0, rank=0, count=2037.0)
    assert by_hand.told("waits_for_gpu", by_hand.explained(wait, copies, other))[0].startswith(
        "2,037 x cuEventSynchronize by rank 0"
    )
