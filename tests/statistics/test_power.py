# SPDX-License-Identifier: Apache-2.0
"""The loss that a study's launches would have found, against losses that simulated studies find."""

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.statistics.power import detectable_loss
from nearpeak.statistics.verdicts import Curve, judge

ALLOWED = 1 / 1.05


def curves(chance: np.random.Generator, blocks: int, scatter: float) -> list[Curve]:
    """8 curves of 5 sizes; the sizes of a block share half of their variance."""

    def rows() -> Floats:
        noise = chance.normal(size=(1, blocks)) + chance.normal(size=(5, blocks))
        return np.asarray(scatter * np.sqrt(0.5) * noise)

    return [Curve(rows(), "lower") for _ in range(8)]


def found(family: list[Curve], loss: float) -> float:
    """The share of sizes that are called slower."""
    moved = [curve._replace(log_ratios=curve.log_ratios - np.log1p(loss)) for curve in family]
    sizes = [size for judged in judge([moved])[0] for size in judged.sizes]
    return float(np.mean([s.verdict == "slower" and s.comparison.ratio < ALLOWED for s in sizes]))


@pytest.mark.parametrize("blocks", [6, 9])
def test_a_loss_that_is_said_to_be_found_is_found(blocks: int) -> None:
    chance = np.random.default_rng(1)
    said = [detectable_loss(curves(chance, blocks, 0.05), 1, ALLOWED) for _ in range(4)]
    loss = float(np.median([each for each in said if each is not None]))
    power = np.mean([found(curves(chance, blocks, 0.05), loss) for _ in range(12)])
    assert 0.6 < power < 0.97


def test_fewer_blocks_than_any_verdict_takes_find_nothing() -> None:
    assert detectable_loss(curves(np.random.default_rng(1), 5, 0.01), 1, ALLOWED) is None
    assert detectable_loss([], 1, ALLOWED) is None


def test_more_alternatives_and_more_scatter_hide_more() -> None:
    few, many = (
        detectable_loss(curves(np.random.default_rng(1), 7, 0.05), pairs, ALLOWED)
        for pairs in (1, 3)
    )
    wide = detectable_loss(curves(np.random.default_rng(1), 7, 0.1), 1, ALLOWED)
    assert few is not None
    assert many is not None
    assert wide is not None
    assert few < many
    assert few < wide


def test_launches_that_hardly_scatter_find_what_is_more_than_allowed() -> None:
    loss = detectable_loss(curves(np.random.default_rng(1), 8, 1e-4), 1, ALLOWED)
    assert loss == pytest.approx(0.05, abs=0.006)
