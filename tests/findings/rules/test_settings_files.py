# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Files with settings that libraries read unasked."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("name", "severity", "count"),
    [("settings-file", "bad", 1), ("settings-file", "ok", 0), ("load", "bad", 0)],
)
def test_what_doctor_found(by_hand: Any, name: str, severity: str, count: int) -> None:
    message = "/home/me/ucx.conf changes the settings of libraries"
    machine = by_hand.diagnosed(name, message, severity)
    found = by_hand.noticed("settings_files", machine=machine)
    assert [fact.value for noticed in found for fact in noticed.facts] == [message] * count
