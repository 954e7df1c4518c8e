# SPDX-License-Identifier: Apache-2.0
"""The fewest launches are those with which what they are for can be said."""

from nearpeak.statistics.blocks import blocks_needed
from nearpeak.statistics.intervals import interval
from nearpeak.statistics.levels import (
    CONFIDENCE,
    ERROR_RATE,
    EXACT_ERROR_RATE,
    FEWEST_FOR_INTERVAL,
    FEWEST_FOR_SIGN,
)


def test_the_error_rate_is_one() -> None:
    assert float(EXACT_ERROR_RATE) == ERROR_RATE
    assert CONFIDENCE == 0.95


def test_an_interval_takes_six_launches() -> None:
    values = list(range(FEWEST_FOR_INTERVAL))
    assert FEWEST_FOR_INTERVAL == 6
    assert interval(values) is not None
    assert interval(values[:-1]) is None
    assert blocks_needed(1) == FEWEST_FOR_INTERVAL


def test_one_side_takes_five_blocks() -> None:
    assert FEWEST_FOR_SIGN == 5
    assert 0.5**FEWEST_FOR_SIGN <= ERROR_RATE < 0.5 ** (FEWEST_FOR_SIGN - 1)
