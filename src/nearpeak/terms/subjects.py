# SPDX-License-Identifier: Apache-2.0
"""The subjects of requirements: every figure of a study, made from its plan or its results.

Requirements are checked and judged against the same list, so that every checked one is judged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nearpeak.terms.axes import state_of
from nearpeak.terms.benchmarks import Benchmark, Better, Metric, X, by_name
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import CEILING, Curve, Place, Who
from nearpeak.terms.path import DataPath, by_place

MEMORY_RATES = [Metric("copy", "GB/s", "higher"), Metric("triad", "GB/s", "higher")]


@dataclass(frozen=True)
class Subject:
    """A figure of a library, or of a ceiling, over its sizes."""

    who: Who  # CEILING for a ceiling
    place: Place
    curve: Curve
    unit: str
    better: Better
    # Empty: one that the program chooses; it cannot be named.
    sizes: tuple[int, ...]
    x_unit: str = X().unit  # of the sizes
    has_ceiling: bool = False  # there is a ceiling that it can be a fraction of
    theoretical_gbs: float | None = None  # of its link; None: unknown, or of another kind


Figures = dict[tuple[Who, Place, Curve], tuple[Metric, set[int]]]


def one_way(benchmarks: Iterable[Benchmark]) -> Callable[[Curve], bool]:
    """A test: can a curve be compared with a theoretical rate, which is one-way?"""
    names = {(benchmark.name, benchmark.main.name) for benchmark in benchmarks if benchmark.one_way}
    return lambda curve: (curve.benchmark, curve.metric) in names


def add(
    figures: Figures, who: Who, place: Place, curve: Curve, metric: Metric, sizes: Iterable[int]
) -> None:
    """Adds sizes of a figure."""
    figures.setdefault((who, place, curve), (metric, set()))[1].update(sizes)


def subjects(
    figures: Figures, paths: Iterable[DataPath], benchmarks: Iterable[Benchmark]
) -> list[Subject]:
    """The subjects of the figures and of memories."""
    benchmarks_by_name = by_name(benchmarks)
    places = by_place(paths)
    comparable = one_way(benchmarks_by_name.values())
    made = [
        Subject(
            who=who,
            place=place,
            curve=curve,
            unit=metric.unit,
            better=metric.better,
            sizes=tuple(sorted(sizes)),
            x_unit=benchmarks_by_name[curve.benchmark].x.unit,
            has_ceiling=who != CEILING and benchmarks_by_name[curve.benchmark].has_ceiling,
            theoretical_gbs=places[place].theoretical_gbs if comparable(curve) else None,
        )
        for (who, place, curve), (metric, sizes) in figures.items()
    ]
    return [*made, *_memories(places)]


def _memories(places: Mapping[Place, DataPath]) -> Iterator[Subject]:
    """The rates of memories, which are no ceiling of a benchmark."""
    for place, path in places.items():
        for metric in MEMORY_RATES if path.is_local else []:
            curve = Curve(
                benchmark=metric.name, metric=metric.name, buffers=HOST, axes=dict(state_of({}))
            )
            yield Subject(CEILING, place, curve, metric.unit, metric.better, sizes=())
