# SPDX-License-Identifier: Apache-2.0
"""The best that each path carries without MPI, and whether its links and memories are sound."""

from nearpeak.grouping import grouped
from nearpeak.results.best import best_point
from nearpeak.results.order import places, ranking
from nearpeak.results.results import Peak, Results
from nearpeak.terms.buffers import on_host
from nearpeak.terms.subjects import one_way

HEALTHY = 0.8  # of the theoretical rate: below, a link or a memory is worth a look,
JUDGED_FROM = 64 << 20  # bytes of a message: of smaller ones, a fast link or memory carries less


def find(results: Results) -> list[Peak]:
    """One for each path and curve: the best of the measured ceiling."""
    rates = {path.place: path.theoretical_gbs for path in results.paths}
    measured = [point for point in results.ceilings if point.kind == "measured"]
    points = grouped(measured, lambda point: (point.place, point.case.curve))
    order, rank = places(results), ranking(results)
    comparable = one_way(results.benchmarks)
    peaks = []
    for place, curve in sorted(points, key=lambda key: (order.index(key[0]), rank(key[1]))):
        best = best_point(points[place, curve])
        assert best is not None  # a curve has at least the point that made it
        peaks.append(
            Peak(
                place=place,
                case=best.case,
                value=best.value,
                unit=best.unit,
                method=best.method,
                fact=best.fact,
                largest=max(point.case.x for point in points[place, curve]),
                one_way=comparable(curve),
                theoretical_gbs=rates.get(place),
                of_theoretical=best.of_theoretical,
            )
        )
    _judge(peaks)
    return peaks


def _judge(peaks: list[Peak]) -> None:
    """Marks those that are worth a look.

    Pageable memory or rotating buffers may well be slow on a sound link: only the best of each
    direction of a path speaks of its health. Managed memory moves, and says nothing.
    """
    judged = [
        (peak.of_theoretical, peak)
        for peak in peaks
        if peak.of_theoretical is not None and peak.largest >= JUDGED_FROM
    ]
    unmanaged = [pair for pair in judged if "M" not in pair[1].case.buffers]
    ways = grouped(unmanaged, lambda pair: (pair[1].place, on_host(pair[1].case.buffers)))
    for group in ways.values():
        share, best = max(group, key=lambda pair: pair[0])
        best.suspect = share < HEALTHY
