# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Ranks that see one GPU."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("devices", "place", "count"),
    [
        ("0", "NVLINK", 1),
        ("GPU-873d55dc", "NVLINK", 1),
        ("0,1", "NVLINK", 0),
        (None, "NVLINK", 0),
        ("0", "SAME", 0),  # there is one
        ("0", "NEAR", 0),
    ],
)
def test_one_device_for_a_rank(by_hand: Any, devices: str | None, place: str, count: int) -> None:
    conditions = {} if devices is None else {"env CUDA_VISIBLE_DEVICES": devices}
    launches = [
        by_hand.make_launch(block, place=getattr(by_hand, place), conditions=conditions)
        for block in range(2)
    ]
    found = by_hand.noticed("visible_devices", launches=launches)
    facts = [(fact.value, fact.launches) for noticed in found for fact in noticed.facts]
    assert facts == [(devices, 2)] * count
