# SPDX-License-Identifier: Apache-2.0
"""What a path reaches of its link's theoretical rate: the one rule for tables and requirements."""

from collections.abc import Callable, Iterable

from nearpeak.identity import Curve
from nearpeak.machine.model import Path
from nearpeak.results.model import CeilingPoint
from nearpeak.study.benchmarks import Benchmark


def one_way(benchmarks: Iterable[Benchmark]) -> Callable[[Curve], bool]:
    """Says whether a theoretical rate, which is of one direction, can stand beside a curve."""
    known = {(one.name, one.main.name) for one in benchmarks if one.one_way}
    return lambda curve: (curve.benchmark, curve.metric) in known


def compare(
    points: Iterable[CeilingPoint], paths: Iterable[Path], benchmarks: Iterable[Benchmark]
) -> None:
    """Sets of each point its fraction of the theoretical rate: None where that is not known, is
    of another kind, or the point was not measured."""
    rates = {path.place: path.theoretical_gbs for path in paths}
    comparable = one_way(benchmarks)
    for point in points:
        rate = rates.get(point.place)
        beside = point.kind == "measured" and comparable(point.case)
        point.of_theoretical = point.value / rate if rate and beside else None
