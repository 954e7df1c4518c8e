# SPDX-License-Identifier: Apache-2.0
"""The number of questions that a few blocks can answer by sign flips (sign_flip.py)."""

import math

from nearpeak.statistics.levels import ERROR_RATE

EXACT_BLOCKS = 11  # up to here all flips are tested, beyond a group of as many


def least_p(blocks: int) -> float:
    """The smallest p-value that this number of blocks can have."""
    return 2.0 ** (1 - min(blocks, EXACT_BLOCKS)) if blocks > 0 else 1.0


def most_families(blocks: int) -> int:
    """The most sets of rows, each with its own flips, that the blocks can judge together."""
    return math.ceil(ERROR_RATE / least_p(blocks)) - 1


def blocks_needed(families: int) -> int:
    """The fewest blocks that can judge `families` sets of rows together."""
    return next((n for n in range(1, EXACT_BLOCKS) if most_families(n) >= families), EXACT_BLOCKS)
