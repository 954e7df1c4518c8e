# SPDX-License-Identifier: Apache-2.0
"""Values of blocks."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from nearpeak.observations.observed import Block
from nearpeak.results.results import Estimated
from nearpeak.statistics.intervals import interval


def sessions_of(blocks: Iterable[Block]) -> list[int]:
    """The session of each block."""
    return [block.session for block in blocks]


def extremes(values: Collection[float]) -> tuple[float, float] | None:
    """The smallest value and the largest; None: there are none."""
    return (min(values), max(values)) if values else None


def middle(values: Collection[float]) -> float | None:
    """The median; None: there are no values."""
    return float(np.median([*values])) if values else None


def estimated(by_block: Mapping[Block, float]) -> Estimated:
    """The median of the values of blocks, or of the launches in them."""
    values = [*by_block.values()]
    return Estimated(
        value=float(np.median(values)),
        ci95=interval(values, sessions=sessions_of(by_block)),
        range=(min(values), max(values)),
    )
