# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages of device memory through the host."""

from typing import Any

import msgspec


def copy(by_hand: Any, to: str, us: float = 20.0) -> Any:
    return by_hand.part("device", f"copy, device to {to}", us, bytes=8.0)


def test_copies_to_the_host_between_devices_are_told(by_hand: Any) -> None:
    given = by_hand.explained(copy(by_hand, "pageable"), buffers="D,D")
    assert len(by_hand.told("through_host", given)) == 1


def test_where_a_buffer_is_on_the_host_or_the_share_is_small_they_are_not(by_hand: Any) -> None:
    assert by_hand.told("through_host", by_hand.explained(copy(by_hand, "pageable"))) == []
    little = by_hand.explained(copy(by_hand, "pageable", 0.8), buffers="D,D")
    assert by_hand.told("through_host", little) == []


def test_copies_to_a_peer_are_direct(by_hand: Any) -> None:
    host = copy(by_hand, "pageable")
    peer = by_hand.part("device", "copy to another GPU", 20.0, bytes=8.0)
    assert by_hand.told("through_host", by_hand.explained(host, peer, buffers="D,D")) == []


def test_where_messages_of_another_size_go_directly_the_gpus_are_reached(by_hand: Any) -> None:
    small = by_hand.explained(copy(by_hand, "pageable"), buffers="D,D", size=8)
    large = by_hand.explained(copy(by_hand, "device"), buffers="D,D")
    both = msgspec.structs.replace(small, cases=[*small.cases, *large.cases])
    assert by_hand.told("through_host", both) == []
