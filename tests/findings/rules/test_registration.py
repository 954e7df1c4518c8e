# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""New buffers for each message against the same ones."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("rotating", "ceilings", "count"),
    [
        (10.0, (None, None), 1),
        (10.0, (50.0, 50.0), 1),
        (20.0, (50.0, 50.0), 0),
        (10.0, (50.0, 20.0), 0),  # other buffers are in no cache: so it is for the path
    ],
)
def test_what_new_buffers_cost(
    by_hand: Any, rotating: float, ceilings: tuple[float | None, float | None], count: int
) -> None:
    cells = [
        by_hand.make_cell("bw", value, x=by_hand.MIB, ceiling=ceiling, reuse=reuse)
        for value, ceiling, reuse in zip(
            (25.0, rotating), ceilings, ("fixed", "rotating"), strict=True
        )
    ]
    seen = by_hand.seen("registration", cells)
    assert len(seen) == count
    for loss in seen:
        assert loss.cell.case.axes["reuse"] == "rotating"


def test_one_buffer_for_all_is_another_question(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bw", value, reuse=reuse)
        for value, reuse in ((25.0, "single"), (1.0, "fixed"))
    ]
    assert not by_hand.seen("registration", cells)
