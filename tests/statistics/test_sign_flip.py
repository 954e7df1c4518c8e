# SPDX-License-Identifier: Apache-2.0
"""Flips of signs against their definition, written out again, and by simulation."""

import itertools

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.statistics import sign_flip
from nearpeak.statistics.blocks import least_p
from nearpeak.statistics.levels import ERROR_RATE


def statistics(rows: Floats) -> Floats:
    """Written out: of each row the squared mean over its own and the shared scatter."""
    shared = np.median([np.abs(row).std(ddof=1) for row in rows])
    return np.array(
        [len(row) * np.mean(row) ** 2 / (6 * shared**2 + np.sum(row**2)) for row in rows]
    )


def step_down(rows: Floats) -> list[float]:
    """The adjusted p-values by all flips, both signs of the first block among them."""
    observed = statistics(rows)
    order = list(np.argsort(-observed, kind="stable"))
    signs = list(itertools.product([1.0, -1.0], repeat=rows.shape[1]))
    flipped = [statistics(rows * np.array(sign)) for sign in signs]
    found, largest = [0.0] * len(rows), 0.0
    for rank, index in enumerate(order):
        rest = order[rank:]
        reached = [max(row[rest]) >= observed[index] * (1 - 1e-9) for row in flipped]
        largest = max(largest, float(np.mean(reached)))
        found[index] = largest
    return found


def test_adjusted_is_the_step_down_over_all_flips() -> None:
    generator = np.random.default_rng(1)
    for shift in (0.0, 1.0, 3.0):
        rows = generator.normal(0, 1, (4, 6)) + shift * np.arange(4)[:, None]
        assert sign_flip.adjusted(rows).tolist() == pytest.approx(step_down(rows))


def test_no_p_value_is_below_what_the_blocks_allow() -> None:
    for blocks in (6, 9, 11, 12, 30):
        rows = np.ones((3, blocks))  # equal by chance: Student's t would be without limit
        assert sign_flip.adjusted(rows).tolist() == [2.0 ** (1 - min(blocks, 11))] * 3
        assert least_p(blocks) == 2.0 ** (1 - min(blocks, 11))


def test_rows_with_too_few_blocks_to_be_judged_take_no_part() -> None:
    few = np.array([[3.0] * 5 + [np.nan] * 3])
    rest = np.array([[0.1], [0.2]]) + 0.001 * np.arange(8)
    rows = np.concatenate([few, rest])
    assert sign_flip.adjusted(rows).tolist() == [1.0, *sign_flip.adjusted(rest).tolist()]
    rows[0, 5] = 3.0  # enough for one set of rows, not for three
    assert sign_flip.adjusted(rows)[0] == 1 / 32
    assert sign_flip.adjusted(rows, families=3).tolist() == [
        1.0,
        *sign_flip.adjusted(rest).tolist(),
    ]


@pytest.mark.parametrize("blocks", [12, 40])
def test_flips_of_many_blocks_are_a_group(blocks: int) -> None:
    found = sign_flip._flips(blocks)
    known = {tuple(row) for row in found.tolist()}
    assert len(known) == len(found) == 1024
    assert found[0].tolist() == [1.0] * blocks
    for row in found[:50]:
        assert tuple((row * found[700]).tolist()) in known
        assert tuple((-row).tolist()) not in known
    for first in range(blocks - 7):  # a row with 8 blocks
        here = found[:, first : first + 8].sum(axis=1)
        assert np.mean(np.abs(here) == 8) == 2.0 ** (1 - 8)


def test_the_order_of_rows_and_a_missing_block() -> None:
    rows = np.random.default_rng(2).normal(0.5, 1, (5, 8))
    rows[3, 2] = np.nan
    assert sign_flip.adjusted(rows)[::-1].tolist() == pytest.approx(
        sign_flip.adjusted(rows[::-1]).tolist()
    )
    assert sign_flip.adjusted(np.zeros((2, 6))).tolist() == [1.0, 1.0]  # not the least difference


def test_rows_alone() -> None:
    assert sign_flip.unadjusted(np.empty((1, 0))).tolist() == [1.0]
    assert sign_flip.unadjusted(np.array([[0.5]])).tolist() == [1.0]
    rows = np.array([[0.1, 0.2, 0.3, 0.1, 0.2, 0.3], [0.1, 0.1, 0.1, 0.1, 0.1, -0.1]])
    assert sign_flip.unadjusted(rows).tolist() == [1 / 32, 7 / 32]  # and each of six alone turned


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_launches_of_two_narrow_modes(share: float) -> None:
    """Six equal log ratios come by chance: 45 curves judge falsely in at most 5 % of studies."""
    generator = np.random.default_rng(3)
    false = 0
    for _ in range(200):
        modes = generator.random((2, 45, 6)) < share
        values = 0.15 * modes + generator.normal(0, 1e-4, modes.shape)
        false += sign_flip.adjusted(values[1] - values[0]).min() < ERROR_RATE
    assert false <= 18  # 10 are allowed, deviation 3.1
