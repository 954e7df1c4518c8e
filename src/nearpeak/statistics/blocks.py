# SPDX-License-Identifier: Apache-2.0
"""How many questions so few blocks can answer, with the flips of flips.py."""

import math

from nearpeak.statistics.levels import ERROR_RATE

EXACT_BLOCKS = 11  # up to here all flips are gone through, beyond a group of as many


def least_p(blocks: int) -> float:
    """The smallest p-value that so many blocks can have."""
    return 2.0 ** (1 - min(blocks, EXACT_BLOCKS)) if blocks > 0 else 1.0


def most_families(blocks: int) -> int:
    """How many sets of rows, each with flips of its own, so many blocks can judge together."""
    return math.ceil(ERROR_RATE / least_p(blocks)) - 1


def blocks_needed(families: int) -> int:
    """The fewest blocks that can judge so many sets of rows together."""
    return next((n for n in range(1, EXACT_BLOCKS) if most_families(n) >= families), EXACT_BLOCKS)
