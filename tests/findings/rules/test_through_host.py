# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages of device memory through the host."""

from typing import Any


def test_copies_to_the_host_between_devices_are_told(by_hand: Any) -> None:
    copy = by_hand.part("device", "copy, device to pageable", 2.0, bytes=8.0)
    assert len(by_hand.told("through_host", by_hand.explained(copy, buffers="D,D"))) == 1


def test_where_a_buffer_is_on_the_host_they_are_not(by_hand: Any) -> None:
    copy = by_hand.part("device", "copy, device to pageable", 2.0, bytes=8.0)
    within = by_hand.part("device", "copy, device to device", 2.0, bytes=8.0)
    assert by_hand.told("through_host", by_hand.explained(copy)) == []
    assert by_hand.told("through_host", by_hand.explained(within, buffers="D,D")) == []
