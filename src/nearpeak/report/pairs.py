# SPDX-License-Identifier: Apache-2.0
"""Studies of all pairs: one matrix for each benchmark, and which pair is slowest."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.numbers import number, percent, size, unit
from nearpeak.observations.observed import Block
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.names import case
from nearpeak.results.results import CeilingPoint, Cell, Results
from nearpeak.statistics import ordered
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Curve, Place

CEILING = "measured ceiling"
Pair = tuple[str, ...]  # the names of both ends


@dataclass(frozen=True)
class Source:
    """The values of one contender, or of the ceiling, in one matrix."""

    who: str
    values: dict[Pair, float]
    better: str
    blocks: dict[Pair, dict[Block, float]]  # what each block measured

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

    def behind(self, columns: list[Block]) -> tuple[Pair, Floats]:
        """The slowest pair of the blocks that give the order (statistics/ordered.py), and how far
        it lies behind the next slower one in each of these blocks.

        Logarithms, above 0 where no other pair is as slow; nan where a pair lacks the block.
        """
        table = [[self.blocks.get(p, {}).get(b, math.nan) for b in columns] for p in self.values]
        rows = np.log(np.array(table, dtype=float).reshape(len(table), len(columns)))
        rows = rows if self.better == "lower" else -rows
        first = rows[:, : ordered.ordering(len(columns))]
        slowest = int(np.argmax(np.nan_to_num(np.median(first, axis=1), nan=-math.inf)))
        others = np.delete(rows, slowest, axis=0)
        if not len(others):
            return self.slowest, np.full(len(columns), math.nan)
        return list(self.values)[slowest], np.asarray(rows[slowest] - others.max(axis=0))


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

    def sentence(self, source: Source, sure: bool) -> str:
        """Which pair is slowest, by a source, and its fraction of the median pair.

        `sure`: that it is slower than each of the others.
        """
        values = (
            f"{number(source.values[source.slowest])} {unit(self.unit)},"
            f" {percent(source.fraction(source.slowest))} % of the median pair"
            f" ({number(source.middle)} {unit(self.unit)}, {len(source.values)} pairs)"
        )
        head = f"{self.kind} pairs, {self.case} at {size(self.size_bytes)}, {source.who}:"
        pair = "-".join(source.slowest)
        if sure:
            return f"{head} slowest is {pair} with {values}."
        return (
            f"{head} no pair is proven to be slower than all others;"
            f" the slowest figure is {pair}'s, {values}."
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
    blocks: dict[str, dict[Pair, dict[Block, float]]] = defaultdict(dict)
    for point in limits:
        if point is not None and point.value > 0:
            owners[CEILING][point.place.pair] = point.value
            blocks[CEILING][point.place.pair] = point.by_block
    for cell in cells:
        if cell.case.x == at.x and cell.median:
            owners[cell.who.label][cell.place.pair] = cell.median
            blocks[cell.who.label][cell.place.pair] = cell.by_block
    return Matrix(
        place=cells[0].place,
        case=case(at),
        unit=cells[0].unit,
        size_bytes=at.x,
        sources=[Source(who, values, better, blocks[who]) for who, values in owners.items()],
    )


def _of_ceilings(points: list[CeilingPoint]) -> Matrix:
    """Where no library was measured."""
    one = max(points, key=lambda point: point.case.x)
    here = [point for point in points if point.case.x == one.case.x]
    values = {point.place.pair: point.value for point in here}
    blocks = {point.place.pair: point.by_block for point in here}
    return Matrix(
        place=one.place,
        case=case(one.case),
        unit=one.unit,
        size_bytes=one.case.x,
        sources=[Source(CEILING, values, one.better, blocks)],
    )


def sentences(found: Iterable[Matrix]) -> list[str]:
    """The slowest pair of every matrix, the slowest of all first.

    Whether it is slower than each of the others is asked of all matrices of a study together.
    """
    told = [(matrix, source) for matrix in found for source in matrix.sources]
    told.sort(key=lambda one: one[1].fraction(one[1].slowest))
    columns = sorted({b for _, one in told for values in one.blocks.values() for b in values})
    asked = [source.behind(columns) for _, source in told]
    rows = np.array([row for _, row in asked]).reshape(len(asked), len(columns))
    return [
        matrix.sentence(source, bool(sure) and pair == source.slowest)
        for (matrix, source), (pair, _), sure in zip(
            told, asked, ordered.surely_above(rows), strict=True
        )
    ]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts `gpu10` behind `gpu9`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
