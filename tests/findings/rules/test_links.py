# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Links that had less than they can have before a study."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("name", "severity", "count"),
    [
        ("pcie-link", "warn", 1),
        ("gpu-links", "bad", 1),
        ("pcie-link", "ok", 0),
        ("gpu-clocks", "warn", 0),
    ],
)
def test_links_that_lost_something(by_hand: Any, name: str, severity: str, count: int) -> None:
    message = "GPU 3: the PCIe link of 0000:61:00 has 8 of 16 lanes"
    machine = by_hand.diagnosed(name, message, severity)
    made = by_hand.noticed("links", machine=machine)
    assert [fact.value for noticed in made for fact in noticed.facts] == [message] * count
