# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""A link of several that carries nothing."""

from typing import Any

import pytest
from made_counters import GPUS, between_hosts, counted, facts, noticed, nvlink_path

from nearpeak.terms.counters import Link

RULE = "idle_link"


def ports(idle: int, of: int = 8) -> dict[Link, float]:
    """The ports of a host, the last ones idle."""
    return {
        Link("infiniband", "a", f"mlx5_{number}:1"): 0.0 if number >= of - idle else 1 / (of - idle)
        for number in range(of)
    }


def test_an_adapter_of_eight_is_idle(by_hand: Any) -> None:
    launches = [counted(ports(1))] * 2
    found = noticed(by_hand, RULE, between_hosts(), *launches, buffers="H,H")
    assert facts(found) == [
        "mlx5_7:1: carried nothing",
        "InfiniBand or RoCE: 8 adapters of this rate",
    ]


@pytest.mark.parametrize("idle", [0, 4, 7])
def test_nothing_where_all_are_at_work_or_few_of_them_by_design(by_hand: Any, idle: int) -> None:
    launches = [counted(ports(idle))] * 2
    assert noticed(by_hand, RULE, between_hosts(), *launches, buffers="H,H") == []


def on_each(by_hand: Any, *bytes_: int) -> list[Any]:
    link = Link("nvlink", "a", GPUS[0])
    launch = by_hand.make_launch(0, single_links={link: [*bytes_]})
    found: list[Any] = by_hand.noticed(RULE, launches=[launch], paths=[nvlink_path()])
    return found


def test_a_link_of_a_gpu_is_idle(by_hand: Any) -> None:
    found = on_each(by_hand, *[1 << 26] * 17, 1000)
    assert facts(found) == ["link 17: carried nothing", "NVLink of GPU-0: 18 links"]


def test_nothing_where_links_are_alike_or_carry_too_little(by_hand: Any) -> None:
    assert on_each(by_hand, *[1 << 26] * 18) == []
    assert on_each(by_hand, *[1000] * 17, 0) == []
    assert on_each(by_hand, *[1 << 28] * 4, *[0] * 8) == []  # a mesh: four links to this neighbour
