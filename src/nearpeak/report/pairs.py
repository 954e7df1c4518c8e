# SPDX-License-Identifier: Apache-2.0
"""Studies of all pairs: one matrix for each benchmark, and which pair is slowest.

The paths are `gpu-gpu pair 0-1` and `host-gpu pair node0-gpu1`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from nearpeak.numbers import number, percent, size, unit
from nearpeak.results.model import CeilingPoint, Cell, Results
from nearpeak.results.names import case, figure
from nearpeak.study.model import GPU_FACTS, label, staging

CEILING = "measured ceiling"
_PATH = re.compile(r"(gpu-gpu|host-gpu) pair (\w+)-(\w+)")


@dataclass(frozen=True)
class Source:
    """The values of one contender, or of the ceiling, in one matrix."""

    who: str
    values: dict[tuple[str, str], float]  # by the names of the two ends
    better: str

    @property
    def middle(self) -> float:
        """Of the median pair."""
        return median(self.values.values())

    def fraction(self, pair: tuple[str, str]) -> float:
        """How near a pair is to the median pair; below 1 is worse, whatever is better."""
        value = self.values[pair]
        return self.middle / value if self.better == "lower" else value / self.middle

    @property
    def slowest(self) -> tuple[str, str]:
        """The pair with the least fraction."""
        return min(self.values, key=self.fraction)


@dataclass(frozen=True)
class Matrix:
    """One benchmark between all pairs, at the largest size that was measured."""

    kind: str  # "gpu-gpu" or "host-gpu"
    case: str  # "bw D,D"
    unit: str
    size_bytes: int
    sources: list[Source]

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Of the rows and of the columns; a GPU-GPU matrix is symmetric."""
        pairs = {pair for source in self.sources for pair in source.values}
        first, second = ({pair[end] for pair in pairs} for end in (0, 1))
        if self.kind == "gpu-gpu":
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


def ends(path: str) -> tuple[str, str, str] | None:
    """Kind and the names of both ends of a path of all pairs; None for any other path."""
    found = _PATH.fullmatch(path)
    return (found[1], found[2], found[3]) if found else None


def matrices(results: Results) -> list[Matrix]:
    """A matrix for each kind of pair, benchmark and buffers.

    A contender stands there with its first variant that the benchmark does not stage.
    """
    first: dict[tuple[str, str], dict[str, str]] = {}
    cells: dict[tuple[str, str, str], list[Cell]] = {}  # by kind, figure and buffers
    for cell in results.cells:
        where = ends(cell.path)
        if where is None or not cell.median or staging(cell.axes) is not None:
            continue
        name = figure(cell.benchmark, cell.metric)
        if first.setdefault((name, cell.buffers), cell.axes) == cell.axes:
            cells.setdefault((where[0], name, cell.buffers), []).append(cell)
    points: dict[tuple[str, str, str], list[CeilingPoint]] = {}
    axes: dict[tuple[str, str, str], dict[str, str]] = {}
    for point in results.ceilings:
        where = ends(point.path)
        if where is None or point.value <= 0:
            continue
        key = (where[0], point.metric, point.buffers)
        if axes.setdefault(key, point.axes) == point.axes:
            points.setdefault(key, []).append(point)
    found = []
    shown = set()
    for (kind, name, buffers), owned in cells.items():
        limit = (kind, owned[0].metric, buffers)
        shown.add(limit)
        found.append(_matrix(kind, name, buffers, [*points.get(limit, []), *owned]))
    found += [
        _matrix(*key, limits)
        for key, limits in points.items()
        if key not in shown and key[1] not in GPU_FACTS
    ]
    return found


def _matrix(kind: str, name: str, buffers: str, items: Sequence[CeilingPoint | Cell]) -> Matrix:
    measured = [item for item in items if isinstance(item, Cell)] or items
    largest = max(item.size_bytes for item in measured)
    owners: dict[str, dict[tuple[str, str], float]] = {}
    for item in items:
        if item.size_bytes != largest:
            continue
        where = ends(item.path)
        value = item.value if isinstance(item, CeilingPoint) else item.median
        assert where is not None  # both were asked for above
        assert value is not None
        who = CEILING if isinstance(item, CeilingPoint) else label(item.library, item.settings)
        owners.setdefault(who, {})[where[1], where[2]] = value
    return Matrix(
        kind=kind,
        case=case(name, buffers, {}),
        unit=items[0].unit,
        size_bytes=largest,
        sources=[Source(who, values, items[0].better) for who, values in owners.items()],
    )


def sentences(found: Iterable[Matrix]) -> list[str]:
    """The slowest pair of every matrix, the slowest of all first."""
    told = [one for matrix in found for one in matrix.sentences()]
    return [sentence for _, sentence in sorted(told, key=lambda one: one[0])]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts `gpu10` behind `gpu9`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
