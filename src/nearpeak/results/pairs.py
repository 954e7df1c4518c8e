# SPDX-License-Identifier: Apache-2.0
"""Studies of all pairs: a matrix for each kind of pair and benchmark, and which pair is slowest."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.grouping import collected, firsts, grouped, present
from nearpeak.observations.observed import Block
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.results import (
    CeilingPoint,
    Cell,
    PairFigure,
    PairMatrix,
    PairSource,
    Results,
)
from nearpeak.statistics import sequential
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import with_ceilings
from nearpeak.terms.identity import CEILING, Case, Curve, Place, Who
from nearpeak.terms.subjects import one_way

Pair = tuple[str, ...]  # the names of both ends
T = TypeVar("T", Cell, CeilingPoint)


@dataclass(frozen=True)
class Source:
    """The values of one contender, or of the ceiling, in one matrix."""

    who: Who  # CEILING for that of a ceiling
    values: dict[Pair, float]
    better: str
    blocks: dict[Pair, dict[Block, float]]  # what each block measured

    @property
    def middle(self) -> float:
        """The value of the median pair."""
        return median(self.values.values())

    def fraction(self, pair: Pair) -> float:
        """The share of the median pair that a pair reaches; below 1 is worse, whatever is
        better."""
        value = self.values[pair]
        return self.middle / value if self.better == "lower" else value / self.middle

    @property
    def slowest(self) -> Pair:
        """The pair with the least fraction."""
        return min(self.values, key=self.fraction)

    def _row(self, pair: Pair, columns: list[Block]) -> list[float]:
        return [self.blocks.get(pair, {}).get(block, math.nan) for block in columns]

    def behind(self, columns: list[Block]) -> tuple[Pair, Floats]:
        """The slowest pair of the blocks that give the order (statistics/sequential.py), and how
        far it lies behind the next slower one in each of these blocks.

        Logarithms, above 0 where no other pair is as slow; nan where a pair lacks the block.
        """
        table = [self._row(pair, columns) for pair in self.values]
        rows = np.log(np.array(table, dtype=float).reshape(len(table), len(columns)))
        rows = rows if self.better == "lower" else -rows
        first = rows[:, : sequential.ordering(len(columns))]
        slowest = int(np.argmax(np.nan_to_num(np.median(first, axis=1), nan=-math.inf)))
        others = np.delete(rows, slowest, axis=0)
        if not len(others):
            return self.slowest, np.full(len(columns), math.nan)
        return list(self.values)[slowest], np.asarray(rows[slowest] - others.max(axis=0))


def by_gpu(source: Source) -> Source:
    """The same of each GPU instead of each pair: the median of its pairs."""
    values: dict[Pair, float] = {}
    blocks: dict[Pair, dict[Block, float]] = {}
    for gpu in dict.fromkeys(gpu for pair in source.values for gpu in pair):
        pairs = [pair for pair in source.values if gpu in pair]
        values[gpu,] = median(source.values[pair] for pair in pairs)
        measured = collected(item for pair in pairs for item in source.blocks.get(pair, {}).items())
        complete = [block for block, in_pairs in measured.items() if len(in_pairs) == len(pairs)]
        blocks[gpu,] = {block: median(measured[block]) for block in complete}
    return Source(source.who, values, source.better, blocks)


@dataclass(frozen=True)
class Matrix:
    """One benchmark between all pairs, at the largest size that was measured."""

    place: Place  # one of them
    case: Case
    unit: str
    sources: list[Source]
    symmetric: bool  # whether either end of a pair may be called the first


def find(results: Results) -> list[PairMatrix]:
    """A matrix for each kind of pair, figure and buffers, at the largest size that was measured.

    A contender stands there with the first curve that the benchmark does not stage, and ceilings
    that were measured; benchmarks that have such ceilings come first. Verdicts on slowest pairs
    cover all matrices of a study together.
    """
    return judged(_matrices(results))


def judged(matrices: list[Matrix]) -> list[PairMatrix]:
    """The matrices, with verdicts on the slowest pair of each source, and on the slowest GPU."""
    sources = [source for matrix in matrices for source in matrix.sources]
    gpus = {
        id(source): by_gpu(source)
        for matrix in matrices
        if matrix.place.kind == "gpu-gpu"
        for source in matrix.sources
    }
    sources += gpus.values()
    blocks = (by_block for source in sources for by_block in source.blocks.values())
    columns = sorted(set[Block]().union(*blocks))
    slowest = [source.behind(columns) for source in sources]
    rows = np.array([row for _, row in slowest]).reshape(len(slowest), len(columns))
    counted = (~np.isnan(rows[:, sequential.ordering(len(columns)) :])).sum(axis=1)
    verdicts = {
        id(source): (bool(above) and pair == source.slowest, int(number))
        for source, (pair, _), above, number in zip(
            sources, slowest, sequential.surely_above(rows), counted, strict=True
        )
    }

    def pair_source(source: Source) -> PairSource:
        gpu = gpus.get(id(source))
        slow = gpu if gpu and verdicts[id(gpu)][0] else None
        return _pair_source(source, *verdicts[id(source)], slow)

    return [
        PairMatrix(
            kind=matrix.place.kind,
            symmetric=matrix.symmetric,
            case=matrix.case,
            unit=matrix.unit,
            sources=list(map(pair_source, matrix.sources)),
        )
        for matrix in matrices
    ]


def _pair_source(source: Source, sure: bool, blocks: int, slow: Source | None) -> PairSource:
    return PairSource(
        who=source.who,
        figures=[
            PairFigure(pair=pair, value=value, fraction=source.fraction(pair))
            for pair, value in source.values.items()
        ],
        median=source.middle,
        slowest=source.slowest,
        fraction=source.fraction(source.slowest),
        sure=sure,
        blocks=blocks,
        slow_gpu=slow.slowest[0] if slow else None,
        slow_gpu_fraction=slow.fraction(slow.slowest) if slow else None,
    )


def _matrices(results: Results) -> list[Matrix]:
    cells = _by_kind(
        cell
        for cell in results.cells
        if cell.place.pair and cell.median and staging(cell.case.axes) is None
    )
    measured = [point for point in results.ceilings if point.kind == "measured"]
    points = _by_kind(
        point for point in measured if point.place.pair and point.value > 0 and not point.fact
    )
    pairs = dict.fromkeys(path.place for path in results.paths if path.pair)
    places = grouped(pairs, lambda place: place.kind)
    ceilings = Ceilings(measured)
    directed = one_way(results.benchmarks)
    matrices = []
    for (kind, *_), mine in cells.items():
        largest = _largest(mine)
        limits = present(ceilings.point(place, largest.case) for place in places.get(kind, []))
        matrices.append(_matrix(largest, limits, mine, directed))
    alone = [limits for key, limits in points.items() if key not in cells]
    matrices += [_matrix(_largest(limits), limits, (), directed) for limits in alone]
    with_ceiling = with_ceilings(results.benchmarks)
    return sorted(matrices, key=lambda matrix: matrix.case.benchmark not in with_ceiling)


def _by_kind(measured: Iterable[T]) -> dict[tuple[str, str, str], list[T]]:
    """The points by kind of pair, figure and buffers, of the first curve that has these."""
    points: list[T] = list(measured)
    first = firsts(points, _figure)
    alike: list[T] = [p for p in points if p.case.curve == first[_figure(p)].case.curve]
    return grouped(alike, lambda point: (point.place.kind, *_figure(point)))


def _figure(point: Cell | CeilingPoint) -> tuple[str, str]:
    return point.case.figure, point.case.buffers


def _largest(measured: list[T]) -> T:
    return max(measured, key=lambda point: point.case.x)


def _matrix(
    largest: Cell | CeilingPoint,
    limits: Iterable[CeilingPoint],
    cells: Iterable[Cell],
    directed: Callable[[Curve], bool],
) -> Matrix:
    """The matrix of the case of `largest`."""
    figures: list[tuple[Who, tuple[float, Cell | CeilingPoint]]] = [
        *((CEILING, (point.value, point)) for point in limits),
        *((cell.who, (cell.median or 0.0, cell)) for cell in cells),
    ]
    by_owner = collected(
        (who, (value, point))
        for who, (value, point) in figures
        if point.case.x == largest.case.x and value > 0
    )
    sources = [_source(who, figures, largest.better) for who, figures in by_owner.items()]
    symmetric = len(set(largest.place.ends)) == 1 and not directed(largest.case.curve)
    return Matrix(largest.place, largest.case, largest.unit, sources, symmetric)


def _source(who: Who, figures: Sequence[tuple[float, Cell | CeilingPoint]], better: str) -> Source:
    return Source(
        who,
        {point.place.pair: value for value, point in figures},
        better,
        {point.place.pair: point.by_block for _, point in figures},
    )
