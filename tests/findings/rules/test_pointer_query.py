# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages in host memory whose library asks the driver whose memory each buffer is."""

from typing import Any

import msgspec


def test_a_tenth_of_a_host_message_is_told(by_hand: Any) -> None:
    query = by_hand.part("call", "cuPointerGetAttribute", 15.0)
    copy = by_hand.part("call", "memcpy", 50.0)
    in_gpu = by_hand.explained(query, copy)
    on_host = msgspec.structs.replace(in_gpu, buffers="H,H")
    assert by_hand.told("pointer_query", on_host)
    assert not by_hand.told("lookups", on_host)
    # With a buffer in a GPU it is one of many look-ups.
    assert not by_hand.told("pointer_query", in_gpu)
    assert by_hand.told("lookups", in_gpu)
    little = by_hand.explained(by_hand.part("call", "cuPointerGetAttribute", 5.0), copy)
    assert not by_hand.told("pointer_query", msgspec.structs.replace(little, buffers="H,H"))
