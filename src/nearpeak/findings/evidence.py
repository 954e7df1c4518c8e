# SPDX-License-Identifier: Apache-2.0
"""The evidence of findings: ratios of two cells in each common block, or recorded facts."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from statistics import median
from typing import Literal

import msgspec
import numpy as np

from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import Reference
from nearpeak.findings.weights import Weigh, by_family
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Diagnosis
from nearpeak.observations.observed import Block, Launch, Observations
from nearpeak.results import reference
from nearpeak.results.bounds import LOCALLY_COMPLETE, SYNC
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.cells import operation_us
from nearpeak.results.results import (
    Cell,
    Evidence,
    EvidenceOf,
    Fact,
    FindingKind,
    InMessage,
    Results,
    Tried,
)
from nearpeak.statistics.comparisons import better_by, better_in, median_ratio
from nearpeak.statistics.intervals import Interval, interval
from nearpeak.statistics.levels import CONFIDENCE, FEWEST_FOR_SCATTER
from nearpeak.terms.axes import STAGING, staging, state_of
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import CEILING, Case, Curve, Place, Who

# The origin of a loss: the library or what it is asked to do; settings of the library, the machine
# or its system; the places of ranks on the machine; the hardware, below what it should sustain.
Origin = Literal["software", "settings", "placement", "hardware"]

UNLIKE = 1.1  # the ratio of two medians is reported if it differs by more from the median ratio
# The factor from which a possibly better figure is reported, for most rules: less is not worth a
# change.
WORTH = 1.5


@dataclass(frozen=True)
class View:
    """The cells of a study that have a figure, with their benchmarks and all observations.

    Of sessions on several machines or versions, only the blocks of the verdicts.
    """

    cells: list[Cell]
    benchmarks: Mapping[str, Benchmark]
    given: Mapping[Who, Settings]
    ceilings: Ceilings
    observations: Observations
    launches: list[Launch]  # of libraries, in these blocks
    weigh: Weigh = by_family  # how common a case is

    @classmethod
    def from_results(
        cls, results: Results, observations: Observations, weigh: Weigh = by_family
    ) -> "View":
        """The view of a study: `results` are made of these observations."""
        others = {session.session for session in results.sessions if not session.verdicts}
        if len(others) == len(results.sessions):
            others = set()  # nothing is compared
        return cls(
            [_without(cell, others) for cell in results.cells if cell.median],
            {benchmark.name: benchmark for benchmark in results.benchmarks},
            {
                Who(library.name, given.name): given
                for library in results.libraries
                for given in library.settings
            },
            Ceilings(results.ceilings),
            observations,
            [
                launch
                for launch in observations.launches
                if launch.who != CEILING and launch.block.session not in others
            ],
            weigh,
        )

    @cached_property
    def families(self) -> Mapping[Who, str]:
        """The families of the libraries; "": the ceilings in the place of one."""
        return {
            library.who: "" if library.native else library.family
            for library in self.observations.libraries
        }

    @cached_property
    def unstaged(self) -> list[Cell]:
        """The cells in which the library gets the buffers unstaged."""
        return [cell for cell in self.cells if staging(cell.case.axes) is None]

    @cached_property
    def variants(self) -> list[tuple[Cell, Cell]]:
        """The unstaged cells of variants of paths, each with the same cell of the original path."""
        cells = {(cell.who, cell.place.path, cell.case): cell for cell in self.unstaged}
        return [
            (cell, other)
            for cell in self.unstaged
            if (other := cells.get((cell.who, cell.place.variant_of, cell.case)))
        ]

    @cached_property
    def curves(self) -> list[list[Cell]]:
        """The unstaged cells by curve, in the order of their sizes."""
        by_curve: dict[tuple[Who, Place, Curve], list[Cell]] = defaultdict(list)
        for cell in self.unstaged:
            by_curve[cell.who, cell.place, cell.case.curve].append(cell)
        return [sorted(cells, key=lambda cell: cell.case.x) for cells in by_curve.values()]

    @cached_property
    def _by_benchmark(self) -> Mapping[tuple[Who, Place, str, int, str], list[Cell]]:
        cells: dict[tuple[Who, Place, str, int, str], list[Cell]] = defaultdict(list)
        for cell in self.unstaged:
            case = cell.case
            cells[cell.who, cell.place, case.buffers, case.x, case.benchmark].append(cell)
        return cells

    def cells_like(self, cell: Cell, benchmark: str, buffers: str | None = None) -> list[Cell]:
        """The cells of a benchmark with the same library, path and size.

        `buffers`: None for those of `cell`.
        """
        case = cell.case
        key = cell.who, cell.place, buffers or case.buffers, case.x, benchmark
        return self._by_benchmark.get(key, [])

    @cached_property
    def varied(self) -> set[tuple[str, str]]:
        """The benchmarks and axes of which the study has several values."""
        values: dict[tuple[str, str], set[str]] = defaultdict(set)
        for cell in self.cells:
            for name, value in cell.case.axes.items():
                values[cell.case.benchmark, name].add(value)
        return {key for key, several in values.items() if len(several) > 1}

    def pairs(self, axis: str, *values: str) -> Iterator[tuple[Cell, Cell]]:
        """Pairs of cells that differ only in this axis, with any values or with these two."""
        alike: dict[tuple[Who, Place, Case], list[Cell]] = defaultdict(list)
        for cell in self.unstaged:
            if axis in cell.case.axes:
                axes = {name: value for name, value in cell.case.axes.items() if name != axis}
                case = msgspec.structs.replace(cell.case, axes=axes)
                alike[cell.who, cell.place, case].append(cell)
        for cells in alike.values():
            for cell, other in permutations(cells, 2):
                if not values or (cell.case.axes[axis], other.case.axes[axis]) == values:
                    yield cell, other

    def tried(self, cell: Cell, axes: Collection[str]) -> Tried | None:
        """The best cell with other values of these axes that is better in each block; None without.

        Operations that are only locally complete do not count: they do less.
        """
        best: tuple[Cell, Loss] | None = None
        for other in self.cells_like(cell, cell.case.benchmark):
            if state_of(other.case.axes) != state_of(cell.case.axes):
                continue
            # Sessions of several versions may have more axes or fewer.
            differ = [
                name
                for name, value in cell.case.axes.items()
                if other.case.axes.get(name, value) != value
            ]
            if not differ or not {*differ} <= {*axes} or other.case.metric != cell.case.metric:
                continue
            if SYNC in differ and other.case.axes[SYNC] == LOCALLY_COMPLETE:
                continue
            gain = against(cell, other, 1.0)
            if gain and gain.everywhere and (best is None or gain.ratio > best[1].ratio):
                best = other, gain
        if best is None:
            return None
        other, gain = best
        return Tried(
            axes={
                name: value
                for name, value in other.case.axes.items()
                if value != cell.case.axes.get(name, value)
            },
            value=gain.better,
            unit=other.unit,
            ratio=gain.ratio,
            blocks=len(gain.ratios),
        )

    def with_memory(self, kind: str, better: str, limit: float) -> Iterator["PossibleLoss"]:
        """Compares every cell with the same one with buffers of another kind."""
        cells = {(cell.who, cell.place, cell.case): cell for cell in self.unstaged}
        for cell in self.unstaged:
            buffers = cell.case.buffers.replace(kind, better)
            case = msgspec.structs.replace(cell.case, buffers=buffers)
            other = cells.get((cell.who, cell.place, case))
            if other is not None and other is not cell and (loss := against(cell, other, limit)):
                yield PossibleLoss(cell, other, loss)

    def doctor(self, diagnosis: str) -> list[Fact]:
        """The problems that doctor reported before the study."""
        return [
            Fact(of="doctor", name=diagnosis, value=entry.message)
            for entry in self.diagnoses(diagnosis)
        ]

    def diagnoses(self, name: str) -> list[Diagnosis]:
        """The problems of this name that doctor reported before the study."""
        return [
            entry
            for entry in self.observations.machine.diagnoses
            if entry.id == name and entry.severity != "ok"
        ]

    def attainable(self, cell: Cell) -> dict[Block, float]:
        """The best that a library can reach in each block; empty without a ceiling."""
        point = self.ceilings.point(cell.place, cell.case)
        if point is None or cell.by_library is None:
            return {}
        return reference.attainable(cell, point)[0]

    def natural(self, cell: Cell, other: Cell) -> dict[Block, float]:
        """The factor by which the ceiling of `other` is better in each block; both in one unit.

        Empty if either has no ceiling.
        """
        return better_in(self.attainable(other), self.attainable(cell), cell.better)

    def lost_us(self, seen: "PossibleLoss") -> float:
        """Time that one operation of a cell loses; 0 if unknown."""
        cell, loss = seen.cell, seen.loss
        if cell.overlap is not None:
            longer = max(cell.overlap.communicate_us, cell.overlap.compute_us)
            return (loss.own - loss.better) * longer
        if seen.other is not None and cell.unit == "us" != seen.other.unit:
            return loss.own - message_us(cell.case.x, loss.better)
        benchmark = self.benchmarks[cell.case.benchmark]
        own_us, better_us = (
            operation_us(cell, value, benchmark) for value in (loss.own, loss.better)
        )
        return own_us - better_us if own_us and better_us else 0.0

    def apart(self, cell: Cell) -> dict[str, str]:
        """The axes that distinguish a cell from all others of its path."""
        return {
            name: value
            for name, value in cell.case.axes.items()
            if name == STAGING or (cell.case.benchmark, name) in self.varied
        }

    def evidence(self, seen: "PossibleLoss") -> list[Evidence]:
        """Both figures, also in the unit of the other where units differ, and both ceilings."""
        cell, other, blocks = seen.cell, seen.other, list(seen.loss.ratios)
        own_figure = figure_of("own", cell, blocks)
        if other is None:
            return [own_figure, *self._ceiling("own ceiling", cell)]
        entries = [own_figure, figure_of("alternative", other, blocks, seen.scaled)]
        if cell.unit == "us" != other.unit:
            entries.append(_as_rate(own_figure, cell.case.x))
        if seen.scaled == 1:
            entries += self._ceiling("own ceiling", cell)
            entries += self._ceiling("alternative ceiling", other)
        return entries

    def _ceiling(self, role: EvidenceOf, cell: Cell) -> Iterator[Evidence]:
        """The best that a library can reach, if there is a ceiling."""
        point = self.ceilings.point(cell.place, cell.case) if cell.by_library else None
        if point is not None:
            best = (point.attainable if cell.attainable else None) or point
            yield Evidence(
                of=role, value=best.value, unit=cell.unit, ci95=best.ci95, range=best.range
            )


@dataclass(frozen=True)
class Loss:
    """The factor by which another figure is better, from the blocks that have both."""

    own: float  # medians, each in its unit
    better: float
    ratios: Mapping[Block, float]  # FEWEST_FOR_SCATTER or more
    limits: Mapping[Block, float]  # beyond which it is reported

    @cached_property
    def ratio(self) -> float:
        """The median ratio of all blocks."""
        return math.exp(float(np.median(np.log(list(self.ratios.values())))))

    @property
    def range(self) -> Interval:
        """The lowest and the highest ratio."""
        return min(self.ratios.values()), max(self.ratios.values())

    @property
    def everywhere(self) -> bool:
        """True if the ratio is above the limit in each block."""
        return min(self.beyond.values()) > 0

    @cached_property
    def beyond(self) -> dict[Block, float]:
        """The logarithm of ratio / limit in each block."""
        return {block: math.log(ratio / self.limits[block]) for block, ratio in self.ratios.items()}

    def surely_beyond(
        self, level: float = CONFIDENCE, blocks: Collection[Block] | None = None
    ) -> bool:
        """True if the interval of the median over `blocks` (None: all) lies above the limit.

        False also if blocks are too few for an interval.
        """
        bounds = _interval(self.beyond, level, self.beyond if blocks is None else blocks)
        return bounds is not None and bounds[0] > 1

    def of_medians(self, cell: Cell, other: Cell, scaled: float = 1.0) -> float | None:
        """The ratio of the two medians, if `ratios` are of these figures and it differs from
        theirs.

        The figures of `other` are `scaled`.
        """
        figures = better_in(times(other, scaled).by_block, cell.by_block, cell.better)
        if any(
            not math.isclose(figures.get(block, 0.0), ratio) for block, ratio in self.ratios.items()
        ):
            return None
        by_medians = better_by(self.better, self.own, cell.better)
        return (
            None if max(by_medians / self.ratio, self.ratio / by_medians) <= UNLIKE else by_medians
        )

    def interval(self, level: float, blocks: Collection[Block]) -> Interval | None:
        """The interval of the median by these blocks, which also holds the median of all.

        None if blocks are too few for the level.
        """
        logs = {block: math.log(ratio) for block, ratio in self.ratios.items()}
        return _interval(logs, level, blocks)


def _interval(
    logs: Mapping[Block, float], level: float, blocks: Collection[Block]
) -> Interval | None:
    """The interval of the median ratio by these blocks, which also holds the median of all.

    `logs`: logarithms of ratios.
    """
    counted = {block: value for block, value in logs.items() if block in blocks}
    if not counted:
        return None
    sessions = [block.session for block in counted]
    bounds = median_ratio(list(counted.values()), sessions, level).bounds
    middle = math.exp(float(np.median(list(logs.values()))))
    return bounds and (min(bounds[0], middle), max(bounds[1], middle))


@dataclass(frozen=True)
class PossibleLoss:
    """One cell compared with a possibly better figure; it need not lose."""

    cell: Cell
    other: Cell | None  # None: compared with its own bound
    loss: Loss
    scaled: float = 1.0  # figures of `other` are for this many times its bytes
    ceilings: float | None = None  # the factor by which the ceiling of `other` is better

    @property
    def natural(self) -> float:
        """The part of the ratio that the ceilings explain, 1 or more."""
        return max(1.0, self.ceilings or 1.0)


@dataclass(frozen=True)
class Noticed:
    """Recorded facts without a ratio of figures, which hold at any cost."""

    facts: Sequence[Fact]
    who: Who | None = None  # concerned; None: all
    place: Place | None = None
    case: Case | None = None
    evidence: Sequence[Evidence] = ()  # figures that show the cost, if any
    command: str = ""  # reproduces it
    sure: bool = True
    message: InMessage | None = None  # concerned
    remedy: str = ""  # for these facts; empty: that of the rule


@dataclass(frozen=True)
class Rule:
    """One rule, named as its file."""

    name: FindingKind
    tells: str  # the description for docs/reference/rules.md
    find: Callable[[View], Iterable[PossibleLoss | Noticed]]
    origin: Origin  # of its losses
    headline: str  # a finding in one line, behind library and path; `{it.measured}`: of its Phrases
    sentence: Callable[[Phrases], str]  # a finding with its evidence
    remedy: str  # a sentence of advice, besides settings
    sources: Sequence[Reference]  # references, each with the findings that it fits
    action: str = ""  # the remedy in a few words, like `headline`; "": as it is
    by_settings: bool = False  # the remedy is the settings of the better cell
    only_tried: Callable[[PossibleLoss], bool] = field(default=lambda _: False)
    settings: Sequence[Setting] = ()  # that may help, of several libraries
    # Possible reasons: reported if in force, never suggested.
    reasons: Sequence[Setting] = ()
    axes: Sequence[str] = ()  # whose other values may help
    # Rules with the same word report one fault in messages: the largest share, and the rest with
    # it.
    fault: str = ""
    # Losses of other rules that the better cell does not have are reported with this finding.
    is_cause: bool = False
    # The other figure is of an operation that does less: it is not measured that any of the
    # difference can be saved, so that the finding is not significant and has no cost.
    does_less: bool = False


def loss(
    cell: Cell, other: Cell, ratios: Mapping[Block, float], limits: Mapping[Block, float]
) -> Loss | None:
    """The loss of a cell against another one; None if too few blocks have a ratio and a limit."""
    ratios = {block: ratio for block, ratio in ratios.items() if block in limits}
    if len(ratios) < FEWEST_FOR_SCATTER:
        return None
    return Loss(median_in(cell, ratios), median_in(other, ratios), ratios, limits)


def median_in(cell: Cell, blocks: Iterable[Block]) -> float:
    """The median of a cell in these blocks, one or more."""
    return median([cell.by_block[block] for block in blocks])


def above(
    view: View, cell: Cell, other: Cell, limit: float, scaled: float = 1.0
) -> "PossibleLoss | None":
    """Compares two figures of one unit, beyond the ratio of their ceilings in each block.

    `scaled`: figures of `other` are for this many times its bytes. Without ceilings the limit is
    the same in all blocks. None if too few blocks have both.
    """
    better = times(other, scaled)
    ratios = better_in(better.by_block, cell.by_block, cell.better)
    natural = {
        block: ratio / scaled if cell.better == "lower" else ratio * scaled
        for block, ratio in view.natural(cell, other).items()
    }
    limits = dict.fromkeys(ratios, limit)
    if natural:
        limits = {block: limit * max(1.0, ratio) for block, ratio in natural.items()}
    lost = loss(cell, better, ratios, limits)
    if lost is None:
        return None
    ceilings = float(np.median([natural[block] for block in lost.ratios])) if natural else None
    return PossibleLoss(cell, other, lost, scaled, ceilings)


def times(cell: Cell, scaled: float) -> Cell:
    """A cell with its figures scaled to this many times the bytes."""
    return msgspec.structs.replace(
        cell, launch_medians=[median * scaled for median in cell.launch_medians]
    )


def expected(
    cell: Cell, ratios: Mapping[Block, float], limits: Mapping[Block, float]
) -> Loss | None:
    """`loss` against a figure that follows from others: `ratios` are its factors from the cell."""
    lost = loss(cell, cell, ratios, limits)
    if lost is None:
        return None
    better = lost.own * lost.ratio if cell.better == "higher" else lost.own / lost.ratio
    return replace(lost, better=better)


def against(cell: Cell, other: Cell, limit: float) -> Loss | None:
    """`loss` of two figures of one unit, with the same limit in all blocks."""
    ratios = better_in(other.by_block, cell.by_block, cell.better)
    return loss(cell, other, ratios, dict.fromkeys(ratios, limit))


def _without(cell: Cell, sessions: Collection[int]) -> Cell:
    """A cell without its blocks of these sessions."""
    if not any(block.session in sessions for block in cell.blocks):
        return cell
    kept = {
        block: median for block, median in cell.by_block.items() if block.session not in sessions
    }
    return msgspec.structs.replace(cell, blocks=list(kept), launch_medians=list(kept.values()))


def message_us(size_bytes: int, gbs: float) -> float:
    """The time of a message at a rate."""
    return size_bytes / gbs / 1e3


def figure_of(
    role: EvidenceOf, cell: Cell, blocks: Sequence[Block], scaled: float = 1.0
) -> Evidence:
    """The figure of a cell in these blocks, one or more, times `scaled`."""
    values = [cell.by_block[block] * scaled for block in blocks]
    return Evidence(
        of=role,
        value=float(np.median(values)),
        unit=cell.unit,
        ci95=interval(values, sessions=[block.session for block in blocks], positive=True),
        range=(min(values), max(values)),
        window=cell.window,
        scaled=scaled,
    )


def _as_rate(time: Evidence, size_bytes: int) -> Evidence:
    """The rate of messages one after the other, from their time."""

    def gbs(us: float) -> float:
        return size_bytes / us / 1e3

    return msgspec.structs.replace(
        time,
        value=gbs(time.value),
        unit="GB/s",
        ci95=time.ci95 and (gbs(time.ci95[1]), gbs(time.ci95[0])),
        range=(gbs(time.range[1]), gbs(time.range[0])),
    )
