# SPDX-License-Identifier: Apache-2.0
"""Studies of all pairs: one matrix for each benchmark, and which pair is slowest."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from nearpeak.identity import Curve, Place
from nearpeak.numbers import number, percent, size, unit
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.model import CeilingPoint, Cell, Results
from nearpeak.results.names import case
from nearpeak.study.model import staging

CEILING = "measured ceiling"
Pair = tuple[str, ...]  # the names of both ends


@dataclass(frozen=True)
class Source:
    """The values of one contender, or of the ceiling, in one matrix."""

    who: str
    values: dict[Pair, float]
    better: str

    @property
    def middle(self) -> float:
        """Of the median pair."""
        return median(self.values.values())

    def fraction(self, pair: Pair) -> float:
        """How near a pair is to the median pair; below 1 is worse, whatever is better."""
        value = self.values[pair]
        return self.middle / value if self.better == "lower" else value / self.middle

    @property
    def slowest(self) -> Pair:
        """The pair with the least fraction."""
        return min(self.values, key=self.fraction)


@dataclass(frozen=True)
class Matrix:
    """One benchmark between all pairs, at the largest size that was measured."""

    place: Place  # one of them
    case: str  # "bw D,D"
    unit: str
    size_bytes: int
    sources: list[Source]

    @property
    def kind(self) -> str:
        """`gpu-gpu` or `host-gpu`."""
        return self.place.kind

    @property
    def symmetric(self) -> bool:
        """Whether either end of a pair may be called the first."""
        return len(set(self.place.ends)) == 1

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Of the rows and of the columns; the same ones where it is symmetric."""
        pairs = {pair for source in self.sources for pair in source.values}
        first, second = ({pair[end] for pair in pairs} for end in (0, 1))
        if self.symmetric:
            first = second = first | second
        return sorted(first, key=_natural), sorted(second, key=_natural)

    def sentences(self) -> list[tuple[float, str]]:
        """Which pair is slowest, by each source, and its fraction of the median pair."""
        return [
            (source.fraction(source.slowest), self._sentence(source)) for source in self.sources
        ]

    def _sentence(self, source: Source) -> str:
        return (
            f"{self.kind} pairs, {self.case} at {size(self.size_bytes)}, {source.who}: slowest is"
            f" {'-'.join(source.slowest)} with {number(source.values[source.slowest])}"
            f" {unit(self.unit)}, {percent(source.fraction(source.slowest))} % of the median pair"
            f" ({number(source.middle)} {unit(self.unit)}, {len(source.values)} pairs)."
        )


def matrices(results: Results) -> list[Matrix]:
    """A matrix for each kind of pair, figure and buffers.

    A contender stands there with the first curve that the benchmark does not stage.
    """
    cells: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)  # kind, figure, buffers
    first: dict[tuple[str, str], Curve] = {}
    for cell in results.cells:
        if not cell.place.pair or not cell.median or staging(cell.case.axes) is not None:
            continue
        curve = cell.case.curve
        if first.setdefault((curve.figure, curve.buffers), curve) == curve:
            cells[cell.place.kind, curve.figure, curve.buffers].append(cell)
    points: dict[tuple[str, str, str], list[CeilingPoint]] = defaultdict(list)
    held: dict[tuple[str, str], Curve] = {}
    for point in results.ceilings:
        if not point.place.pair or point.value <= 0 or point.fact or point.kind != "measured":
            continue
        curve = point.case.curve
        if held.setdefault((curve.figure, curve.buffers), curve) == curve:
            points[point.place.kind, curve.figure, curve.buffers].append(point)
    places = dict.fromkeys(path.place for path in results.paths if path.pair)
    ceilings = Ceilings(results.ceilings)
    found = [_of_cells(owned, places, ceilings) for owned in cells.values()]
    return found + [_of_ceilings(limits) for key, limits in points.items() if key not in cells]


def _of_cells(cells: list[Cell], places: Iterable[Place], ceilings: Ceilings) -> Matrix:
    at = cells[0].case.curve.at(max(cell.case.x for cell in cells))
    kind, better = cells[0].place.kind, cells[0].better
    limits = [ceilings.of(place, at) for place in places if place.kind == kind]
    owners: dict[str, dict[Pair, float]] = defaultdict(dict)
    for point in limits:
        if point is not None and point.value > 0:
            owners[CEILING][point.place.pair] = point.value
    for cell in cells:
        if cell.case.x == at.x and cell.median:
            owners[cell.who.label][cell.place.pair] = cell.median
    return Matrix(
        place=cells[0].place,
        case=case(at),
        unit=cells[0].unit,
        size_bytes=at.x,
        sources=[Source(who, values, better) for who, values in owners.items()],
    )


def _of_ceilings(points: list[CeilingPoint]) -> Matrix:
    """Where no library was measured."""
    one = max(points, key=lambda point: point.case.x)
    values = {point.place.pair: point.value for point in points if point.case.x == one.case.x}
    return Matrix(
        place=one.place,
        case=case(one.case),
        unit=one.unit,
        size_bytes=one.case.x,
        sources=[Source(CEILING, values, one.better)],
    )


def sentences(found: Iterable[Matrix]) -> list[str]:
    """The slowest pair of every matrix, the slowest of all first."""
    told = [one for matrix in found for one in matrix.sentences()]
    return [sentence for _, sentence in sorted(told, key=lambda one: one[0])]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts `gpu10` behind `gpu9`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
