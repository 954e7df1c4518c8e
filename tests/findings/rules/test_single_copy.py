# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Ranks that may not read each other's memory."""

from typing import Any

import pytest

from nearpeak.terms.identity import Place

NETWORK = Place(path="host-host tcp-loopback", transport="network")


@pytest.mark.parametrize(
    ("severity", "place", "count"),
    [("warn", Place(path="host-host same-numa"), 1), ("ok", Place(path="host-host same-numa"), 0),
     ("warn", NETWORK, 0)],
)  # fmt: skip
def test_only_where_ranks_of_a_host_were_measured(
    by_hand: Any, severity: str, place: Place, count: int
) -> None:
    machine = by_hand.diagnosed("single-copy", "single copy is forbidden", severity)
    cells = [by_hand.make_cell("bw", 1.0, place=place, buffers="H,H")]
    assert len(by_hand.noticed("single_copy", cells, machine=machine)) == count
