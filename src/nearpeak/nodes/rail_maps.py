# SPDX-License-Identifier: Apache-2.0
"""Maps of GPUs: a row for each node, a column for each rail."""

import math
from collections.abc import Iterator

import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes.found import RailMap
from nearpeak.nodes.inside import Within
from nearpeak.nodes.tested import Fits, stacked

MOST_CELLS = 192  # in a row of a map: with more nodes, a cell stands for several


def build(fits: Fits, within: Within, rails: int, order: Indices) -> Iterator[RailMap]:
    """Yields how many times as long as usual the messages of each GPU take, by the median of the
    launches; nothing for one rail."""
    if rails < 2:
        return
    side = -(-len(order) // MOST_CELLS)
    tables = {
        key: stacked(by_rail, lambda launch: launch.fit.nodes)
        for key, by_rail in fits.items()
        if any(by_rail)
    }
    for (metric, mode), table in {**tables, **within.of_gpus()}.items():
        with np.errstate(all="ignore"):
            middle = _median(table)[order]
        rows = [
            [_worst(middle[row : row + side, rail]) for rail in range(rails)]
            for row in range(0, len(order), side)
        ]
        yield RailMap(metric=metric, mode=mode, side=side, rows=rows)


def _median(table: Floats) -> Floats:
    """The median over the launches of values x launches x rails."""
    ordered = np.sort(table, axis=1)  # nan last
    counts = np.isfinite(ordered).sum(axis=1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(counts - 1, 0) // 2, axis=1)
    high = np.take_along_axis(ordered, np.minimum(counts // 2, table.shape[1] - 1), axis=1)
    return np.asarray((low + high)[:, 0] / 2)


def _worst(values: Floats) -> float | None:
    finite = values[np.isfinite(values)]
    return round(math.exp(float(finite.max())), 3) if len(finite) else None
