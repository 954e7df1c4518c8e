# SPDX-License-Identifier: Apache-2.0
"""Hockney's model where it describes a curve over the sizes: of libraries, and of ceilings."""

import math
from collections.abc import Iterable, Mapping, Sequence

from nearpeak.grouping import collected
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import ABOVE
from nearpeak.results.results import CeilingPoint, Cell, Fit
from nearpeak.statistics.fits import by_protocol
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.identity import CEILING, Curve, Place, Who

_RATES = ("us", "GB/s")  # units of what a time of one message follows from
Points = dict[tuple[Who, Place, Curve], list[tuple[int, float]]]  # size in bytes, us


def fit(
    cells: Iterable[Cell], ceilings: Sequence[CeilingPoint], benchmarks: Iterable[Benchmark]
) -> list[Fit]:
    """One fit for each curve, or one for each protocol; none where the model does not describe it.

    A rate counts as the time that one message takes of it; one that counts both ways is of twice
    the bytes. An empty message touches no device's memory: it is no part of a curve of that. A
    library's fit that comes to more than the ceiling carries describes nothing: too few sizes say
    how fast large messages are.
    """
    ways = {benchmark.name: benchmark.moves.ways for benchmark in benchmarks}
    measured: list[tuple[Who, float, Cell | CeilingPoint]] = [
        *((cell.who, cell.median or 0.0, cell) for cell in cells),
        *((CEILING, point.value, point) for point in ceilings),
    ]
    curves = collected(
        ((who, point.place, point.case.curve), (point.case.x, us))
        for who, value, point in measured
        if value > 0 and (us := _us(point, value, ways)) is not None
    )
    fits = [
        Fit(who=who, place=place, curve=curve, **fitted._asdict())
        for (who, place, curve), points in curves.items()
        for fitted in by_protocol(*zip(*points, strict=True))
    ]
    limits = _limits(curves, fits)
    index = Ceilings(ceilings)
    return [
        fitted
        for fitted in fits
        if fitted.who == CEILING
        or fitted.asymptotic_gbs <= ABOVE * limits.get(_ceiling(index, fitted), math.inf)
    ]


def _us(point: Cell | CeilingPoint, value: float, ways: Mapping[str, int]) -> float | None:
    """The time of a message, us; None: its curve has no such time."""
    case = point.case
    if point.unit not in _RATES or (case.x == 0 and in_gpu(case.buffers)):
        return None
    both = ways.get(case.benchmark, 1)
    return value if point.better == "lower" else both * case.x / value / 1e3


def _fastest(points: Iterable[tuple[int, float]]) -> float:
    rates = (size / time_us / 1e3 for size, time_us in points if time_us > 0)
    return max(rates, default=math.inf)


def _ceiling(index: Ceilings, fitted: Fit) -> tuple[Place, Curve] | None:
    """The curve of the ceiling over a fitted one."""
    points = index.curve(fitted.place, fitted.curve)
    return (fitted.place, points[-1].case.curve) if points else None


def _limits(curves: Points, fits: Iterable[Fit]) -> dict[tuple[Place, Curve] | None, float]:
    """GB/s that the messages of each ceiling come to: the fastest of any size, or its fit's."""
    limits: dict[tuple[Place, Curve] | None, float] = {
        (place, curve): _fastest(points)
        for (who, place, curve), points in curves.items()
        if who == CEILING
    }
    for fitted in fits:
        if fitted.who == CEILING:
            key = (fitted.place, fitted.curve)
            limits[key] = max(limits[key], fitted.asymptotic_gbs)
    return limits
