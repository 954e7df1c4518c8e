# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Host messages with a library's GPU support on and off."""

from typing import Any

import pytest


@pytest.mark.parametrize(("on", "off", "count"), [(2.4, 0.4, 1), (0.45, 0.4, 0)])
def test_what_gpu_support_costs_host_messages(
    by_hand: Any, on: float, off: float, count: int
) -> None:
    cells = [
        by_hand.make_cell("latency", on, place=by_hand.HOST_GPU_SUPPORT, buffers="H,H"),
        by_hand.make_cell("latency", off, place=by_hand.HOST, buffers="H,H"),
    ]
    seen = by_hand.seen("gpu_support", cells)
    assert [loss.other.place for loss in seen] == [by_hand.HOST] * count


def test_a_path_to_a_gpu_is_no_such(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 190.0, place=by_hand.NEAR_SAME_GPU),
        by_hand.make_cell("latency", 53.0, place=by_hand.NEAR),
    ]
    assert not by_hand.seen("gpu_support", cells)
