# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""The same case with other memory."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("own", "better", "other", "count"),
    [
        (0.5, 47.0, "P,D", 1),
        (40.0, 47.0, "P,D", 0),
        (47.0, 0.5, "P,D", 0),
        (0.5, 47.0, "D,H", 0),
    ],
)
def test_the_other_memory_is_faster(
    by_hand: Any, own: float, better: float, other: str, count: int
) -> None:
    cells = [
        by_hand.make_cell("bw", value, x=by_hand.MIB, place=by_hand.NEAR, buffers=buffers)
        for value, buffers in ((own, "H,D"), (better, other))
    ]
    seen = by_hand.seen("pageable", cells)
    assert len(seen) == count
    for loss in seen:
        assert (loss.cell.case.buffers, loss.other.case.buffers) == ("H,D", "P,D")
