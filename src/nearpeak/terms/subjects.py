# SPDX-License-Identifier: Apache-2.0
"""What something can be required of: every figure of a study, made from its plan or its results.

A requirement is checked and judged against the same list, so that nothing passes the check which
is not judged later.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nearpeak.terms.axes import state_of
from nearpeak.terms.benchmarks import Benchmark, Better, Metric, X, by_name
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import CEILING, Curve, Place, Who
from nearpeak.terms.path import DataPath

MEMORY_RATES = [Metric("copy", "GB/s", "higher"), Metric("triad", "GB/s", "higher")]


@dataclass(frozen=True)
class Subject:
    """A figure of a library, or of a ceiling, over its sizes."""

    who: Who  # CEILING for a ceiling
    place: Place
    curve: Curve
    unit: str
    better: Better
    # Empty: one that the program chooses, for nobody to name.
    sizes: tuple[int, ...]
    x_unit: str = X().unit  # of the sizes
    has_ceiling: bool = False  # there is a ceiling that it can be a fraction of
    theoretical_gbs: float | None = None  # of its link; None: unknown, or of another kind


Found = dict[tuple[Who, Place, Curve], tuple[Metric, set[int]]]


def one_way(benchmarks: Iterable[Benchmark]) -> Callable[[Curve], bool]:
    """Says whether a theoretical rate, which is of one direction, can stand beside a curve."""
    known = {(each.name, each.main.name) for each in benchmarks if each.one_way}
    return lambda curve: (curve.benchmark, curve.metric) in known


def add(
    found: Found, who: Who, place: Place, curve: Curve, metric: Metric, sizes: Iterable[int]
) -> None:
    """Some sizes of a figure."""
    found.setdefault((who, place, curve), (metric, set()))[1].update(sizes)


def subjects(
    found: Found, paths: Iterable[DataPath], benchmarks: Iterable[Benchmark]
) -> list[Subject]:
    """Of what was found, and of memories."""
    known = by_name(benchmarks)
    places = {path.place: path for path in paths}
    comparable = one_way(known.values())
    made = [
        Subject(
            who=who,
            place=place,
            curve=curve,
            unit=metric.unit,
            better=metric.better,
            sizes=tuple(sorted(sizes)),
            x_unit=known[curve.benchmark].x.unit,
            has_ceiling=who != CEILING and known[curve.benchmark].has_ceiling,
            theoretical_gbs=places[place].theoretical_gbs if comparable(curve) else None,
        )
        for (who, place, curve), (metric, sizes) in found.items()
    ]
    return [*made, *_memories(places)]


def _memories(places: Mapping[Place, DataPath]) -> Iterator[Subject]:
    """What memories carry, which no benchmark is held against."""
    for place, path in places.items():
        for metric in MEMORY_RATES if path.transport == "local" else []:
            curve = Curve(
                benchmark=metric.name, metric=metric.name, buffers=HOST, axes=dict(state_of({}))
            )
            yield Subject(CEILING, place, curve, metric.unit, metric.better, sizes=())
