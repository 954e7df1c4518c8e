# SPDX-License-Identifier: Apache-2.0
"""Each pair of a launch counts once."""

import numpy as np
import pytest

from nearpeak.nodes.journal import Pairs
from nearpeak.nodes.pairs import once, table, times


def pairs(*rows: tuple[int, int, float, bool]) -> Pairs:
    first, second, latency, together = zip(*rows, strict=True)
    singles = np.array(latency, dtype=np.float32)
    bandwidth = np.divide(1, singles, out=np.zeros_like(singles), where=singles > 0)
    return Pairs(
        np.array(first),
        np.array(second),
        singles,
        bandwidth,
        np.array(together),
        np.zeros(len(first), dtype=int),
    )


def test_a_pair_counts_by_its_median_together_and_alone() -> None:
    found = once(
        pairs(
            (0, 1, 3.0, True),
            (0, 2, 5.0, True),
            (0, 1, 1.0, True),
            (0, 1, 2.0, True),
            (0, 1, 9.0, False),
            (1, 2, 0.0, True),  # wrong data: no value
        ),
        3,
    )
    assert [*zip(*(column.tolist() for column in found), strict=True)] == [
        (0, 1, 2.0, 0.5, True, 0),
        (0, 2, 5.0, pytest.approx(0.2), True, 0),
        (0, 1, 9.0, pytest.approx(1 / 9), False, 0),
    ]


def test_a_table_has_both_directions() -> None:
    measured = pairs((0, 1, 2.0, True), (1, 2, 4.0, True), (0, 1, 8.0, False))
    found = np.exp(table(measured, "latency_us", 3, together=True))
    assert found == pytest.approx(
        np.array([[2.0, 2.0, np.nan], [2.0, 2.0, 4.0], [np.nan, 4.0, 2.0]]), nan_ok=True
    )
    assert times(measured, "bandwidth_gbs") == pytest.approx(times(measured, "latency_us"))
