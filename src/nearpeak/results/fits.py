# SPDX-License-Identifier: Apache-2.0
"""Hockney's model where it describes a curve over the sizes: of libraries, and of ceilings."""

from collections import defaultdict
from collections.abc import Iterable

from nearpeak.identity import CEILING, Curve, Place, Who
from nearpeak.results.model import CeilingPoint, Cell, Fit
from nearpeak.statistics.fits import by_protocol
from nearpeak.study.benchmarks import Benchmark

_RATES = ("us", "GB/s")  # units of what a time of one message follows from
Points = dict[tuple[Who, Place, Curve], list[tuple[int, float]]]  # size in bytes, us


def fit(
    cells: Iterable[Cell], ceilings: Iterable[CeilingPoint], benchmarks: Iterable[Benchmark]
) -> list[Fit]:
    """Of each curve one fit, or one for each protocol; none where the model does not describe it.

    A rate that counts both ways is one of twice the bytes.
    """
    ways = {one.name: one.moves.ways for one in benchmarks}
    curves: Points = defaultdict(list)
    for cell in cells:
        if cell.median is not None and cell.unit in _RATES:
            points = curves[cell.who, cell.place, cell.case.curve]
            _add(points, cell.case.x, cell.median, cell.better, ways[cell.case.benchmark])
    for point in ceilings:
        if point.unit in _RATES:
            points = curves[CEILING, point.place, point.case.curve]
            both = ways.get(point.case.benchmark, 1)
            _add(points, point.case.x, point.value, point.better, both)
    fits = []
    for (who, place, curve), points in curves.items():
        for found in by_protocol(*zip(*points, strict=True)) if points else []:
            fits.append(Fit(who=who, place=place, curve=curve, **found._asdict()))
    return fits


def _add(points: list[tuple[int, float]], size: int, value: float, better: str, ways: int) -> None:
    """A point in us: a time as it is, a rate in GB/s as the time that one message takes of it."""
    if value <= 0:
        return  # a rate of nothing
    points.append((size, value if better == "lower" else ways * size / value / 1e3))
