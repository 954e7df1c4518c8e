# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""GPUs that may not reach each other's memory."""

from typing import Any

import msgspec
import pytest

from nearpeak.machine.machine import GpuLink


@pytest.mark.parametrize(
    ("kind", "peer", "place", "count"),
    [
        ("nvlink", "not supported", "NVLINK", 1),
        ("nvlink", None, "NVLINK", 0),
        ("cross-socket", "not supported", "NVLINK", 0),  # so it is with such machines
        ("nvlink", "not supported", "NEAR", 0),  # nothing was measured between GPUs
    ],
)
def test_links_that_cannot_be_used(
    by_hand: Any, kind: str, peer: str | None, place: str, count: int
) -> None:
    links = [GpuLink(one=0, other=1, kind=kind, gbs=450.0, peer=peer)]
    machine = msgspec.structs.replace(by_hand.MACHINE, gpu_links=links)
    cells = [by_hand.make_cell("bw", 1.0, place=getattr(by_hand, place))]
    found = by_hand.noticed("peers", cells, machine=machine)
    assert [fact.name for noticed in found for fact in noticed.facts] == ["GPUs 0-1"] * count
