# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Messages that cross a link twice."""

from typing import Any

import pytest
from made_counters import counted, facts, noticed, nvlink_path, on_gpus

RULE = "more_than_payload"


@pytest.mark.parametrize(
    ("nvlink", "pcie", "words"),
    [
        (1.0, 0.01, []),
        (1.0, 1.08, []),
        (2.01, 0.01, ["NVLink: 2.01 times the payload"]),
        (0.0, 2.16, ["PCIe: 2.16 times the payload"]),
    ],
)
def test_what_is_counted_twice(by_hand: Any, nvlink: float, pcie: float, words: list[str]) -> None:
    launches = [counted(on_gpus(nvlink, pcie))] * 2
    assert facts(noticed(by_hand, RULE, nvlink_path(), *launches)) == words


def test_a_lower_bound_is_enough(by_hand: Any) -> None:
    launches = [counted(on_gpus(0.0, 2.0), at_least=("pcie",))] * 2
    found = noticed(by_hand, RULE, nvlink_path(), *launches)
    assert facts(found) == ["PCIe: at least 2.00 times the payload"]


def test_small_messages_have_more_bytes_around_them(by_hand: Any) -> None:
    launches = [counted(on_gpus(9.4, 0.0))] * 2
    assert noticed(by_hand, RULE, nvlink_path(), *launches, x=8) == []
