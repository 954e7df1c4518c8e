# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""The library's own way against the copies that any user would write."""

from typing import Any

import pytest


def test_a_baseline_that_wins(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bw", 0.5, x=by_hand.MIB, library="mpich", calls="blocking"),
        by_hand.make_cell("bw", 6.0, x=by_hand.MIB, calls="blocking", staging="pinned"),
        by_hand.make_cell("bw", 3.0, x=by_hand.MIB, calls="blocking", staging="pageable"),
        by_hand.make_cell(
            "bw", 5.8, x=by_hand.MIB, library="intel", calls="blocking", staging="none"
        ),
    ]
    (loss,) = by_hand.seen("staged", cells[:3])
    assert loss.cell.who.library == "mpich"
    assert loss.loss.ratio == pytest.approx(12.0, rel=0.05)
    assert loss.other.case.axes["staging"] == "pinned"
