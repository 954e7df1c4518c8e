# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Adapters far from a GPU, or for several ranks."""

from typing import Any

import msgspec
import pytest

from nearpeak.machine.machine import Nic
from nearpeak.terms.path import DataPath, Endpoint


def path(name: str, ranks: int = 1, adapter: str | None = "mlx5_0:1") -> DataPath:
    """So many ranks on each of two hosts, with GPUs at NUMA node 0."""
    ends = tuple(
        Endpoint(memory="gpu", cpus=[rank], numa_node=0, gpu=f"GPU-{rank}", host=host)
        for host in ("a", "b")
        for rank in range(ranks)
    )
    return DataPath(id=name, summary="", transport="network", ends=ends, adapter=adapter)


@pytest.mark.parametrize(
    ("route", "node", "words"),
    [
        (path("gpu-gpu two-nodes"), 1, ["at NUMA node 1, the GPU at 0"]),
        (path("gpu-gpu two-nodes"), 0, []),
        (path("gpu-gpu two-nodes"), None, []),
        (path("gpu-gpu two-nodes far-nic"), 1, []),  # which is forced to be far
        (path("gpu x4 two-nodes", ranks=2), 0, ["shared by 2 ranks of a host"]),
        (path("gpu-gpu two-nodes", adapter=None), 1, []),
    ],
)
def test_where_the_adapter_is(
    by_hand: Any, route: DataPath, node: int | None, words: list[str]
) -> None:
    nic = Nic(
        name="ib0", kind="infiniband", numa_node=node, rate_gbs=50.0, addresses=[], verbs="mlx5_0:1"
    )
    machine = msgspec.structs.replace(by_hand.MACHINE, nics=[nic])
    found = by_hand.noticed("adapter", paths=[route], machine=machine)
    assert [fact.value for noticed in found for fact in noticed.facts] == words
