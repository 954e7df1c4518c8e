# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Collective operations on device memory against the host's, with copies."""

from typing import Any

import pytest

from nearpeak.findings.rules.collectives import RULE
from nearpeak.terms.identity import Place
from nearpeak.terms.path import DataPath, Endpoint

HOSTS = Place(path="host x4", ends=("host",) * 4)
GPUS = Place(path="gpu x4", ends=("gpu",) * 4)
NEAR = DataPath(
    id="host-gpu near",
    summary="",
    transport="memory",
    ends=(
        Endpoint(memory="host", cpus=[0], numa_node=0),
        Endpoint(memory="gpu", cpus=[1], numa_node=0, gpu="GPU-0"),
    ),
)


def seen(by_hand: Any, device: float, host: float, copy: float, **how: Any) -> list[Any]:
    cells = [
        by_hand.make_cell("bcast", device, place=how.get("device_place", GPUS), buffers="D,D"),
        by_hand.make_cell("bcast", host, place=HOSTS, buffers="H,H"),
        by_hand.make_cell("latency", 5.0, place=NEAR.place, buffers="H,D", ceiling=copy),
    ]
    return [loss for loss in RULE.find(by_hand.view(cells, paths=[NEAR])) if loss.loss.everywhere]


def test_the_host_and_two_copies_are_faster(by_hand: Any) -> None:
    (loss,) = seen(by_hand, 200.0, 10.0, 5.0)
    assert (loss.cell.place, loss.other.place) == (GPUS, HOSTS)
    assert (loss.loss.ratio, loss.loss.better) == pytest.approx((10.0, 20.0), rel=0.05)


@pytest.mark.parametrize(
    ("device", "host", "copy"),
    [
        (15.0, 10.0, 5.0),  # faster than that
        (25.0, 10.0, 5.0),  # slower by less than the limit
        (200.0, 10.0, 95.0),  # the copies are what takes long
    ],
)
def test_what_is_no_finding(by_hand: Any, device: float, host: float, copy: float) -> None:
    assert not seen(by_hand, device, host, copy)


def test_as_many_ranks_on_as_many_hosts(by_hand: Any) -> None:
    spread = Place(path="gpu x4 two-nodes", transport="network", ends=("gpu",) * 4, hosts=2)
    assert not seen(by_hand, 200.0, 10.0, 5.0, device_place=spread)
