# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Ways of calling MPI that do the same."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("benchmark", "blocking", "nonblocking", "count"),
    [
        ("latency", 40.0, 20.0, 1),
        ("latency", 25.0, 20.0, 0),
        ("bw", 10.0, 40.0, 0),  # one message at a time against a window of them
    ],
)
def test_slower_calls(
    by_hand: Any, benchmark: str, blocking: float, nonblocking: float, count: int
) -> None:
    cells = [
        by_hand.make_cell(benchmark, value, calls=calls)
        for value, calls in ((blocking, "blocking"), (nonblocking, "nonblocking"))
    ]
    seen = by_hand.seen("calls", cells)
    assert len(seen) == count
    for loss in seen:
        assert loss.cell.case.axes["calls"] == "blocking"
