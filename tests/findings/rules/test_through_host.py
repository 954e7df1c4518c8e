# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages of device memory through the host."""

from typing import Any

import pytest

from nearpeak.explain.events import copy_name

SIZES = (8, 1 << 20)
PEER = 10 << 10 | 3 << 5 | 3  # of one GPU's memory to another's, as CUPTI numbers it


def copied(by_hand: Any, name: str, size: int, us: float = 20.0, **given: Any) -> Any:
    part = by_hand.part("device", name, us, bytes=float(size))
    return by_hand.explained(part, **{"buffers": "D,D", "size": size} | given)


def through(by_hand: Any, size: int, **given: Any) -> Any:
    return copied(by_hand, "copy, device to pageable", size, **given)


def test_copies_to_the_host_at_each_size_between_devices_are_told(by_hand: Any) -> None:
    given = [through(by_hand, size) for size in SIZES]
    assert len(by_hand.told("through_host", *given)) == 1


def test_one_size_says_nothing_of_others(by_hand: Any) -> None:
    """Small messages may go through the host where large ones do not."""
    assert by_hand.told("through_host", through(by_hand, 8)) == []
    assert by_hand.told("through_host", through(by_hand, 8), through(by_hand, 8)) == []


@pytest.mark.parametrize(
    "given", [{"buffers": "H,D"}, {"us": 0.8}], ids=["a buffer on the host", "a small share"]
)
def test_others_are_not(by_hand: Any, given: dict[str, Any]) -> None:
    assert by_hand.told("through_host", *(through(by_hand, size, **given) for size in SIZES)) == []


@pytest.mark.parametrize(
    "name", ["copy, device to device", copy_name(PEER), "kernel move", "copy, unknown to unknown"]
)
def test_where_messages_of_another_size_go_otherwise_the_gpus_are_reached(
    by_hand: Any, name: str
) -> None:
    given = [through(by_hand, size) for size in SIZES]
    assert by_hand.told("through_host", *given, copied(by_hand, name, 1 << 24)) == []


def test_a_message_that_is_copied_directly_too_is_not(by_hand: Any) -> None:
    given = [through(by_hand, size) for size in SIZES]
    part = by_hand.part("device", copy_name(PEER), 1.0)
    given[1].cases[0].budgets[0].parts.append(part)
    assert by_hand.told("through_host", *given) == []
