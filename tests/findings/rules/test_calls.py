# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Ways of calling MPI that do the same."""

from typing import Any

import msgspec
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


@pytest.mark.parametrize(
    ("slow", "fast", "count"),
    [
        (("blocking", 1), ("graph", 20), 0),  # a wait for each, and one for 20
        (("enqueued", 20), ("graph", 20), 1),
        (("enqueued", 20), ("grouped", 20), 0),  # one after another, and at the same time
    ],
)
def test_times_of_several_operations_have_their_like(
    by_hand: Any, slow: tuple[str, int], fast: tuple[str, int], count: int
) -> None:
    cells = [
        msgspec.structs.replace(by_hand.make_cell("latency", us, calls=calls), operations=number)
        for us, (calls, number) in ((40.0, slow), (20.0, fast))
    ]
    assert len(by_hand.seen("calls", cells)) == count
