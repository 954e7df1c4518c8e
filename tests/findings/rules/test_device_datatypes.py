# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Datatypes of device memory that a library does not survive."""

from typing import Any

import pytest

from nearpeak.terms.identity import Case


def at(pack: str | None, buffers: str) -> Case:
    axes = {} if pack is None else {"pack": pack}
    return Case(benchmark="vector", metric="", buffers=buffers, axes=axes, x=8)


@pytest.mark.parametrize(
    ("status", "pack", "buffers", "count"),
    [
        ("crashed", "direct", "D,D", 1),
        ("hung", "mpi", "D,D", 1),
        ("ok", "direct", "D,D", 0),
        ("crashed", "kernel", "D,D", 0),
        ("crashed", "direct", "H,H", 0),
        ("crashed", None, "D,D", 0),
    ],
)
def test_where_launches_ended(
    by_hand: Any, status: str, pack: str | None, buffers: str, count: int
) -> None:
    launches = [by_hand.make_launch(block, at=at(pack, buffers), cause="why") for block in range(3)]
    for launch in launches:
        launch.status = status
    found = by_hand.noticed("device_datatypes", launches=launches)
    facts = [(fact.name, fact.value, fact.launches) for each in found for fact in each.facts]
    assert facts == [(f"D,D vector pack={pack}", "why", 3)] * count
