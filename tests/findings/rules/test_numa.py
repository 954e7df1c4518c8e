# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Ranks off the NUMA nodes of their path."""

from typing import Any

import msgspec
import pytest

from nearpeak.machine.machine import NumaNode
from nearpeak.terms.path import DataPath, Endpoint

CROSS = DataPath(
    id="host-host cross-numa",
    summary="",
    transport="memory",
    ends=tuple(Endpoint(memory="host", cpus=[node], numa_node=node) for node in (0, 1)),
)
NODES = [
    NumaNode(index=node, cpus=[node], memory_bytes=None, distances={0: 10, 1: 21})
    for node in (0, 1)
]


@pytest.mark.parametrize(
    ("recorded", "nodes", "count"),
    [
        (["[0]", "[0]"], NODES, 1),
        (["[0]", "[0, 1]"], NODES, 1),  # it is not bound
        (["[0]", "[1]"], NODES, 0),
        (["[1]", "[0]"], NODES, 0),  # ranks are numbered from either end
        (["[0]"], NODES, 0),  # not all of them are known
        (["[0]", "[0]"], NODES[:1], 0),
    ],
)
def test_where_ranks_took_their_memory(
    by_hand: Any, recorded: list[str], nodes: list[NumaNode], count: int
) -> None:
    conditions = {f"rank {rank} numa_nodes": text for rank, text in enumerate(recorded)}
    found = by_hand.noticed(
        "numa",
        launches=[by_hand.make_launch(0, place=CROSS.place, conditions=conditions)],
        paths=[CROSS],
        machine=msgspec.structs.replace(by_hand.MACHINE, numa_nodes=nodes),
    )
    assert [noticed.place for noticed in found] == [CROSS.place] * count
