# SPDX-License-Identifier: Apache-2.0
"""The share of a link's theoretical rate that a path reaches: the one rule for tables and
requirements."""

from collections.abc import Iterable

from nearpeak.results.results import CeilingPoint
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.path import DataPath
from nearpeak.terms.subjects import one_way


def compare(
    points: Iterable[CeilingPoint], paths: Iterable[DataPath], benchmarks: Iterable[Benchmark]
) -> None:
    """Sets the fraction of the theoretical rate of each point: None where that is not known, is of
    another kind, or the point was not measured."""
    rates = {path.place: path.theoretical_gbs for path in paths}
    comparable = one_way(benchmarks)
    for point in points:
        rate = rates.get(point.place)
        beside = point.kind == "measured" and comparable(point.case)
        point.of_theoretical = point.value / rate if rate and beside else None
