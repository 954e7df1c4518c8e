# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Settings of one library against its best ones, block by block."""

from typing import Any

import pytest

from nearpeak.findings.rules.settings import RULE
from nearpeak.observations.observed import Block


def pair(by_hand: Any, value: float, **how: Any) -> list[Any]:
    return [
        by_hand.make_cell("bw", 10.0, **how),
        by_hand.make_cell("bw", value, settings="tuned", **how),
    ]


@pytest.mark.parametrize(
    ("value", "how", "count"),
    [
        (16.0, {}, 1),
        (14.0, {}, 0),
        (16.0, {"noise": 0.4}, 0),
        (17.0, {"launches": 4}, 1),
        (16.0, {"launches": 4, "noise": 0.4}, 0),
        (16.0, {"launches": 3}, 0),
    ],
)
def test_noise_or_little_is_no_finding(
    by_hand: Any, value: float, how: dict[str, Any], count: int
) -> None:
    assert len(by_hand.seen("settings", pair(by_hand, value, **how))) == count


def test_the_figures_are_of_the_blocks_that_both_ran_in(by_hand: Any) -> None:
    """The worse one went on alone, on a machine that had become five times as fast."""
    own = by_hand.make_cell("latency", 10.0, noise=0.0)
    own.launch_medians += [2.0] * 8
    own.blocks += [Block(0, 6 + n) for n in range(8)]
    own.median = 2.0
    better = by_hand.make_cell("latency", 5.0, settings="tuned", noise=0.0)
    (loss,) = by_hand.seen("settings", [own, better])
    assert (loss.loss.own, loss.loss.better, len(loss.loss.ratios)) == pytest.approx((10.0, 5.0, 6))


def test_two_libraries_are_not_compared_here(by_hand: Any) -> None:
    cells = [by_hand.make_cell("bw", 10.0), by_hand.make_cell("bw", 20.0, library="mpich")]
    assert not by_hand.seen("settings", cells)


def test_pairs_of_one_block_count_whatever_blocks_do(by_hand: Any) -> None:
    """The machine halves its speed in every other block: the ratio is as sure as ever."""
    cells = pair(by_hand, 18.0, noise=0.0)
    for cell in cells:
        cell.launch_medians = [v / (1 + n % 2) for n, v in enumerate(cell.launch_medians)]
    (loss,) = by_hand.seen("settings", cells)
    assert (loss.loss.ratio, *loss.loss.range) == pytest.approx((1.8, 1.8, 1.8))


def test_what_was_only_tried_is_known(by_hand: Any) -> None:
    cells = [by_hand.make_cell("bw", 100.0), by_hand.make_cell("bw", 1.0, settings="ipc-off")]
    (loss,) = by_hand.seen("settings", cells)
    assert RULE.only_tried(loss)
