# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""What of a family stays furthest from its bound."""

from typing import Any

import pytest

from nearpeak.results.furthest import find
from nearpeak.results.results import Furthest

MakeStudy = Any


def told(make_study: MakeStudy, *slow_blocks: int) -> list[Furthest]:
    """A bcast in six blocks, and another library's that is far slower in these."""
    study = make_study("alpha", "beta")
    for block in range(6):
        study.ceiling(block, {("latency", "flag", 8): 0.1})
        study.launch(block, "alpha", "bcast", {8: 0.2 + 0.01 * block})
        if block in slow_blocks:
            study.launch(block, "beta", "bcast", {8: 5.0})
    return find(study.results())


def test_it_says_on_how_many_blocks_it_stands_and_their_range(make_study: MakeStudy) -> None:
    (furthest,) = told(make_study, *range(6))
    assert (furthest.who.library, furthest.blocks) == ("beta", 6)
    assert furthest.share == pytest.approx(0.02)
    assert furthest.range == pytest.approx((0.02, 0.02))


def test_fewer_than_six_blocks_are_not_told(make_study: MakeStudy) -> None:
    (furthest,) = told(make_study, *range(5))
    assert furthest.who.library == "alpha"
    assert furthest.range == pytest.approx((0.1 / 0.25, 0.1 / 0.2))
