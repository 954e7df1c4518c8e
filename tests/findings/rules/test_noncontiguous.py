# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Datatypes against messages of bytes that lie together."""

from typing import Any

import pytest


@pytest.mark.parametrize(("vector", "count"), [(90.0, 1), (12.0, 0)])
def test_what_blocks_cost(by_hand: Any, vector: float, count: int) -> None:
    cells = [
        by_hand.make_cell("vector", vector, x=4096, pack="direct", block="8"),
        by_hand.make_cell("latency", 5.0, x=4096),
    ]
    assert len(by_hand.seen("noncontiguous", cells)) == count


def test_it_is_told_once(by_hand: Any) -> None:
    """Where a kernel packed them too, that is what tells."""
    cells = [
        by_hand.make_cell("vector", 90.0, pack="direct"),
        by_hand.make_cell("vector", 10.0, pack="kernel"),
        by_hand.make_cell("latency", 5.0),
    ]
    assert not by_hand.seen("noncontiguous", cells)
    assert len(by_hand.seen("datatypes", cells)) == 1


def test_packed_blocks_are_no_datatype_of_the_library(by_hand: Any) -> None:
    cells = [by_hand.make_cell("vector", 90.0, pack="kernel"), by_hand.make_cell("latency", 5.0)]
    assert not by_hand.seen("noncontiguous", cells)
