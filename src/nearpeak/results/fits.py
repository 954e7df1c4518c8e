# SPDX-License-Identifier: Apache-2.0
"""Hockney's model for every curve over the sizes: of each cell's kind, and of the ceilings."""

from collections import defaultdict

from nearpeak.results.model import CeilingPoint, Cell, Fit
from nearpeak.results.statistics import hockney
from nearpeak.study.benchmarks import Benchmark

Curve = tuple[str, str, str, str, str, str, tuple[tuple[str, str], ...]]
_RATES = ("us", "GB/s")  # units of what a time of one message follows from


def fit(cells: list[Cell], ceilings: list[CeilingPoint], benchmarks: list[Benchmark]) -> list[Fit]:
    """One fit per curve that has enough sizes; a ceiling's has no library.

    A ceiling stands with the benchmark that has its metric; a fact of a path has none.
    """
    owners = {metric.name: one.name for one in benchmarks for metric in one.metrics}
    curves: dict[Curve, list[tuple[int, float]]] = defaultdict(list)
    for cell in cells:
        axes = tuple(sorted(cell.axes.items()))
        who = (cell.library, cell.settings, cell.path)
        curve = (*who, cell.benchmark, cell.metric, cell.buffers, axes)
        if cell.median is not None and cell.unit in _RATES:
            _add(curves[curve], cell.size_bytes, cell.median, cell.better)
    for point in ceilings:
        axes = tuple(sorted(point.axes.items()))
        if point.unit not in _RATES:
            continue
        owner = owners.get(point.metric, point.metric)
        curve = ("", "", point.path, owner, point.metric, point.buffers, axes)
        _add(curves[curve], point.size_bytes, point.value, point.better)
    fits = []
    for (library, settings, path, benchmark, metric, buffers, pairs), points in curves.items():
        found = hockney(*zip(*points, strict=True)) if points else None
        if found is not None:
            fits.append(
                Fit(
                    library=library,
                    settings=settings,
                    path=path,
                    benchmark=benchmark,
                    metric=metric,
                    buffers=buffers,
                    axes=dict(pairs),
                    latency_us=found.latency_us,
                    asymptotic_gbs=found.asymptotic_gbs,
                    half_peak_bytes=found.half_peak_bytes,
                    worst_error=found.worst_error,
                )
            )
    return fits


def _add(points: list[tuple[int, float]], size: int, value: float, better: str) -> None:
    """A point in us: a time as it is, a rate in GB/s as the time that one message takes of it."""
    if value <= 0:
        return  # a rate of nothing
    points.append((size, value if better == "lower" else size / value / 1e3))
