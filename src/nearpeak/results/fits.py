# SPDX-License-Identifier: Apache-2.0
"""Hockney's model for every curve over the sizes: of each cell's kind, and of the ceilings."""

from collections import defaultdict

from nearpeak.results.model import CeilingPoint, Cell, Fit
from nearpeak.results.statistics import hockney

Curve = tuple[str, str, str, str, str, tuple[tuple[str, str], ...]]


def fit(cells: list[Cell], ceilings: list[CeilingPoint]) -> list[Fit]:
    """One fit per curve that has enough sizes; a ceiling's has no library."""
    curves: dict[Curve, list[tuple[int, float]]] = defaultdict(list)
    for cell in cells:
        axes = tuple(sorted(cell.axes.items()))
        curve = (cell.library, cell.settings, cell.path, cell.benchmark, cell.buffers, axes)
        if cell.median is not None:
            _add(curves[curve], cell.size_bytes, cell.median, cell.better)
    for point in ceilings:
        axes = tuple(sorted(point.axes.items()))
        curve = ("", "", point.path, point.metric, point.buffers, axes)
        _add(curves[curve], point.size_bytes, point.value, point.better)
    fits = []
    for (library, settings, path, benchmark, buffers, pairs), points in curves.items():
        found = hockney(*zip(*points, strict=True)) if points else None
        if found is not None:
            fits.append(
                Fit(
                    library=library,
                    settings=settings,
                    path=path,
                    benchmark=benchmark,
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
