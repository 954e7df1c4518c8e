# SPDX-License-Identifier: Apache-2.0
"""Hockney's model where it describes a curve over the sizes: of libraries, and of ceilings."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import ABOVE
from nearpeak.results.results import CeilingPoint, Cell, Fit
from nearpeak.statistics.fits import by_protocol
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.identity import CEILING, Case, Curve, Place, Who

_RATES = ("us", "GB/s")  # units of what a time of one message follows from
Points = dict[tuple[Who, Place, Curve], list[tuple[int, float]]]  # size in bytes, us


def fit(
    cells: Iterable[Cell], ceilings: Sequence[CeilingPoint], benchmarks: Iterable[Benchmark]
) -> list[Fit]:
    """Of each curve one fit, or one for each protocol; none where the model does not describe it.

    A rate that counts both ways is one of twice the bytes. An empty message touches no device's
    memory: it is no part of a curve of that. A library's fit that comes to more than the ceiling
    carries describes nothing: too few sizes say how fast large messages are.
    """
    ways = {one.name: one.moves.ways for one in benchmarks}
    curves: Points = defaultdict(list)
    for cell in cells:
        if cell.median is not None and cell.unit in _RATES and _moves(cell.case):
            points = curves[cell.who, cell.place, cell.case.curve]
            _add(points, cell.case.x, cell.median, cell.better, ways[cell.case.benchmark])
    for point in ceilings:
        if point.unit in _RATES and _moves(point.case):
            points = curves[CEILING, point.place, point.case.curve]
            both = ways.get(point.case.benchmark, 1)
            _add(points, point.case.x, point.value, point.better, both)
    fits = [
        Fit(who=who, place=place, curve=curve, **found._asdict())
        for (who, place, curve), points in curves.items()
        for found in (by_protocol(*zip(*points, strict=True)) if points else [])
    ]
    limits = _limits(curves, fits)
    index = Ceilings(ceilings)
    return [
        one
        for one in fits
        if one.who == CEILING
        or one.asymptotic_gbs <= ABOVE * limits.get(_ceiling(index, one), math.inf)
    ]


def _moves(case: Case) -> bool:
    return case.x > 0 or not in_gpu(case.buffers)


def _ceiling(index: Ceilings, found: Fit) -> tuple[Place, Curve] | None:
    """The curve of the ceiling over a fitted one."""
    points = index.curve(found.place, found.curve)
    return (found.place, points[-1].case.curve) if points else None


def _limits(curves: Points, fits: Iterable[Fit]) -> dict[tuple[Place, Curve] | None, float]:
    """GB/s that the messages of each ceiling come to: the fastest of any size, or its fit's."""
    limits: dict[tuple[Place, Curve] | None, float] = {
        (place, curve): max(
            (size / time_us / 1e3 for size, time_us in points if time_us > 0), default=math.inf
        )
        for (who, place, curve), points in curves.items()
        if who == CEILING
    }
    for one in fits:
        if one.who == CEILING:
            where = (one.place, one.curve)
            limits[where] = max(limits[where], one.asymptotic_gbs)
    return limits


def _add(points: list[tuple[int, float]], size: int, value: float, better: str, ways: int) -> None:
    """A point in us: a time as it is, a rate in GB/s as the time that one message takes of it."""
    if value <= 0:
        return  # a rate of nothing
    points.append((size, value if better == "lower" else ways * size / value / 1e3))
