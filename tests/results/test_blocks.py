# SPDX-License-Identifier: Apache-2.0
"""Values of blocks."""

from nearpeak.observations.observed import Block
from nearpeak.results.blocks import estimated, sessions_of


def test_the_median_with_its_range_and_no_interval_of_three() -> None:
    estimate = estimated({Block(0, 0): -1.0, Block(0, 1): 3.0, Block(1, 2): 0.5})
    assert (estimate.value, estimate.ci95, estimate.range) == (0.5, None, (-1.0, 3.0))


def test_each_block_has_its_session() -> None:
    assert sessions_of([Block(0, 0), Block(2, 1), Block(0, 3)]) == [0, 2, 0]
