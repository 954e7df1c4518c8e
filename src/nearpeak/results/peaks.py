# SPDX-License-Identifier: Apache-2.0
"""The best that each path carries without MPI, and whether its links and memories are sound."""

from collections import defaultdict

from nearpeak.results.best import best_point
from nearpeak.results.order import places, ranking
from nearpeak.results.results import CeilingPoint, Peak, Results
from nearpeak.terms.buffers import on_host
from nearpeak.terms.identity import Curve, Place
from nearpeak.terms.subjects import one_way

HEALTHY = 0.8  # of the theoretical rate: below, a link or a memory is worth a look,
JUDGED_FROM = 64 << 20  # bytes of a message: of smaller ones, a fast link or memory carries less


def find(results: Results) -> list[Peak]:
    """One for each path and curve: the best of the measured ceiling."""
    paths = {path.place: path for path in results.paths}
    points: dict[tuple[Place, Curve], list[CeilingPoint]] = defaultdict(list)
    for point in results.ceilings:
        if point.kind == "measured":
            points[point.place, point.case.curve].append(point)
    order = {place: number for number, place in enumerate(places(results))}
    rank, comparable = ranking(results), one_way(results.benchmarks)
    peaks = []
    for place, curve in sorted(points, key=lambda key: (order[key[0]], rank(key[1]))):
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
                theoretical_gbs=paths[place].theoretical_gbs if place in paths else None,
                of_theoretical=best.of_theoretical,
            )
        )
    _judge(peaks)
    return peaks


def _judge(peaks: list[Peak]) -> None:
    """Marks those that are worth a look.

    Pageable memory or rotating buffers may well be slow on a sound link: only the best of each
    direction of a path speaks of its health.
    """
    best: dict[tuple[Place, tuple[bool, ...]], Peak] = {}
    for peak in peaks:
        buffers = peak.case.buffers
        managed = "M" in buffers  # such memory moves
        if peak.of_theoretical is not None and peak.largest >= JUDGED_FROM and not managed:
            key = (peak.place, on_host(buffers))
            best[key] = max(best.get(key, peak), peak, key=lambda rate: rate.of_theoretical or 0)
    for peak in best.values():
        peak.suspect = (peak.of_theoretical or 0.0) < HEALTHY
