# SPDX-License-Identifier: Apache-2.0
"""Studies of all pairs: a matrix for each kind of pair and benchmark, and which pair is slowest."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import numpy as np

from nearpeak.arrays import Floats
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
        """The slowest pair of the blocks that give the order (statistics/sequential.py), and how
        far it lies behind the next slower one in each of these blocks.

        Logarithms, above 0 where no other pair is as slow; nan where a pair lacks the block.
        """
        table = [[self.blocks.get(p, {}).get(b, math.nan) for b in columns] for p in self.values]
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

    def of(gpu: str, values: Mapping[Pair, float]) -> list[float]:
        return [value for pair, value in values.items() if gpu in pair]

    gpus = dict.fromkeys(gpu for pair in source.values for gpu in pair)
    in_block: dict[Block, dict[Pair, float]] = defaultdict(dict)
    for pair, own in source.blocks.items():
        for block, value in own.items():
            in_block[block][pair] = value
    return Source(
        source.who,
        {(gpu,): median(of(gpu, source.values)) for gpu in gpus},
        source.better,
        {
            (gpu,): {
                block: median(of(gpu, values))
                for block, values in in_block.items()
                if len(of(gpu, values)) == len(of(gpu, source.values))
            }
            for gpu in gpus
        },
    )


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
    that were measured; benchmarks that have such ceilings come first. Whether a slowest pair is
    slower than each of the others is asked of all matrices of a study together.
    """
    return judged(_matrices(results))


def judged(matrices: list[Matrix]) -> list[PairMatrix]:
    """The same, with what is known of the slowest pair of each source, and of the slowest GPU."""
    sources = [source for matrix in matrices for source in matrix.sources]
    gpus = {
        id(source): by_gpu(source)
        for matrix in matrices
        if matrix.place.kind == "gpu-gpu"
        for source in matrix.sources
    }
    sources += gpus.values()
    columns = sorted({b for source in sources for own in source.blocks.values() for b in own})
    asked = [source.behind(columns) for source in sources]
    rows = np.array([row for _, row in asked]).reshape(len(asked), len(columns))
    counted = (~np.isnan(rows[:, sequential.ordering(len(columns)) :])).sum(axis=1)
    known = {
        id(source): (bool(above) and pair == source.slowest, int(blocks))
        for source, (pair, _), above, blocks in zip(
            sources, asked, sequential.surely_above(rows), counted, strict=True
        )
    }

    def told(source: Source) -> PairSource:
        gpu = gpus.get(id(source))
        slow = gpu if gpu and known[id(gpu)][0] else None
        return _told(source, *known[id(source)], slow)

    return [
        PairMatrix(
            kind=matrix.place.kind,
            symmetric=matrix.symmetric,
            case=matrix.case,
            unit=matrix.unit,
            sources=[told(source) for source in matrix.sources],
        )
        for matrix in matrices
    ]


def _told(source: Source, sure: bool, blocks: int, slow: Source | None) -> PairSource:
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
    places = dict.fromkeys(path.place for path in results.paths if path.pair)
    ceilings = Ceilings(measured)
    directed = one_way(results.benchmarks)
    found = []
    for (kind, *_), owned in cells.items():
        at = _largest(owned)
        limits = (ceilings.of(place, at.case) for place in places if place.kind == kind)
        found.append(_matrix(at, filter(None, limits), owned, directed))
    alone = [limits for key, limits in points.items() if key not in cells]
    found += [_matrix(_largest(limits), limits, (), directed) for limits in alone]
    held = with_ceilings(results.benchmarks)
    return sorted(found, key=lambda matrix: matrix.case.benchmark not in held)


def _by_kind(measured: Iterable[T]) -> dict[tuple[str, str, str], list[T]]:
    """By kind of pair, figure and buffers: those of the first curve that has these."""
    found: dict[tuple[str, str, str], list[T]] = defaultdict(list)
    first: dict[tuple[str, str], Curve] = {}
    for point in measured:
        curve = point.case.curve
        if first.setdefault((curve.figure, curve.buffers), curve) == curve:
            found[point.place.kind, curve.figure, curve.buffers].append(point)
    return found


def _largest(measured: list[T]) -> T:
    return max(measured, key=lambda point: point.case.x)


def _matrix(
    at: Cell | CeilingPoint,
    limits: Iterable[CeilingPoint],
    cells: Iterable[Cell],
    directed: Callable[[Curve], bool],
) -> Matrix:
    """Of the case of `at`."""
    values: dict[Who, dict[Pair, float]] = defaultdict(dict)
    blocks: dict[Who, dict[Pair, dict[Block, float]]] = defaultdict(dict)
    for point in limits:
        if point.case.x == at.case.x and point.value > 0:
            values[CEILING][point.place.pair] = point.value
            blocks[CEILING][point.place.pair] = point.by_block
    for cell in cells:
        if cell.case.x == at.case.x and cell.median:
            values[cell.who][cell.place.pair] = cell.median
            blocks[cell.who][cell.place.pair] = cell.by_block
    sources = [Source(who, own, at.better, blocks[who]) for who, own in values.items()]
    symmetric = len(set(at.place.ends)) == 1 and not directed(at.case.curve)
    return Matrix(at.place, at.case, at.unit, sources, symmetric)
