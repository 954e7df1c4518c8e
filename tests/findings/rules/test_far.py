# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Ranks and adapters far from a GPU."""

from typing import Any

import pytest

from nearpeak.terms.identity import Place


@pytest.mark.parametrize(("far", "count"), [(20.0, 1), (48.0, 0)])
@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("host-gpu far", "host-gpu near"),
        ("gpu-gpu two-nodes far-nic", "gpu-gpu two-nodes"),
    ],
)
def test_what_the_distance_costs(
    by_hand: Any, path: str, near: str, far: float, count: int
) -> None:
    cells = [
        by_hand.make_cell("bw", value, place=Place(path=name, ends=by_hand.GPUS))
        for value, name in ((far, path), (50.0, near))
    ]
    seen = by_hand.seen("far", cells)
    assert [loss.other.place.path for loss in seen] == [near] * count


def test_other_paths_are_not_compared(by_hand: Any) -> None:
    cells = [by_hand.make_cell("bw", 1.0), by_hand.make_cell("bw", 50.0, place=by_hand.NEAR)]
    assert not by_hand.seen("far", cells)
