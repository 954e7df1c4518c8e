# SPDX-License-Identifier: Apache-2.0
"""The point that stands for a curve: the one rule for tables, headlines and requirements."""

from collections.abc import Iterable
from typing import TypeVar

from nearpeak.results.results import Attainable, CeilingPoint, Cell, Reference
from nearpeak.terms.benchmarks import QUOTED_BYTES

T = TypeVar("T", Cell, CeilingPoint)


def best_point(points: Iterable[CeilingPoint]) -> CeilingPoint | None:
    """The point that stands for a curve (`_best`)."""
    return _best((point.value, point) for point in points)


def best_cell(cells: Iterable[Cell]) -> Cell | None:
    """The measured cell that stands for a curve (`_best`)."""
    return _best((cell.median, cell) for cell in cells if cell.median is not None)


def quoted_size(sizes: Iterable[int]) -> int:
    """The size at which times are quoted: that of 8 bytes, or the nearest to it."""
    return min(sizes, key=lambda x: (abs(x - QUOTED_BYTES), x))


def reference_of(point: CeilingPoint, part: Attainable | None = None) -> Reference:
    """The point as the reference of a figure; `part`: what is attainable of it, in its place."""
    source = part or point
    return Reference(
        value=source.value,
        ci95=source.ci95,
        range=source.range,
        x=point.case.x,
        method=source.method,
        kind=point.kind,
        lies_in=point.lies_in,
        by_trials=part is not None and part.by_trials,
    )


def _best(candidates: Iterable[tuple[float, T]]) -> T | None:
    """The highest rate; of times that of the smallest message that is not empty, as a library may
    do worse the less it has to send. The smallest size wins a tie."""
    ordered = sorted(candidates, key=lambda pair: (pair[1].case.x == 0, pair[1].case.x))
    if ordered and ordered[0][1].better == "lower":
        return ordered[0][1]
    return max(ordered, key=lambda pair: pair[0], default=(0.0, None))[1]
