# SPDX-License-Identifier: Apache-2.0
"""What findings rest on: the ratio of two cells in each block that both ran in, or what was
recorded beside the figures."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from statistics import median

import msgspec
import numpy as np

from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import Reference
from nearpeak.libraries.library import Settings
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

UNLIKE = 1.1  # the ratio of two medians is told where it is so far from the median ratio
# Times that a figure is worse than what shows that it could be better, for most rules: less is not
# worth a change.
WORTH = 1.5


@dataclass(frozen=True)
class View:
    """The cells of a study that have a figure, what is known of their benchmarks, and all that was
    observed.

    Of sessions on several machines or versions, only the blocks that verdicts rest on too.
    """

    cells: list[Cell]
    benchmarks: Mapping[str, Benchmark]
    given: Mapping[Who, Settings]
    ceilings: Ceilings
    observations: Observations
    launches: list[Launch]  # of libraries, in these blocks

    @classmethod
    def of(cls, results: Results, observations: Observations) -> "View":
        """Of a whole study: `results` are made of these observations."""
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
        )

    @cached_property
    def unstaged(self) -> list[Cell]:
        """The cells in which the library gets the buffers as they are."""
        return [cell for cell in self.cells if staging(cell.case.axes) is None]

    @cached_property
    def variants(self) -> list[tuple[Cell, Cell]]:
        """The unstaged cells of paths that vary another one, each with the same cell there."""
        cells = {(cell.who, cell.place.path, cell.case): cell for cell in self.unstaged}
        return [
            (cell, other)
            for cell in self.unstaged
            if (other := cells.get((cell.who, cell.place.variant_of, cell.case)))
        ]

    @cached_property
    def curves(self) -> list[list[Cell]]:
        """The same by curve, in the order of their sizes."""
        found: dict[tuple[Who, Place, Curve], list[Cell]] = defaultdict(list)
        for cell in self.unstaged:
            found[cell.who, cell.place, cell.case.curve].append(cell)
        return [sorted(cells, key=lambda cell: cell.case.x) for cells in found.values()]

    @cached_property
    def _by_benchmark(self) -> Mapping[tuple[Who, Place, str, int, str], list[Cell]]:
        found: dict[tuple[Who, Place, str, int, str], list[Cell]] = defaultdict(list)
        for cell in self.unstaged:
            case = cell.case
            found[cell.who, cell.place, case.buffers, case.x, case.benchmark].append(cell)
        return found

    def beside(self, cell: Cell, benchmark: str, buffers: str | None = None) -> list[Cell]:
        """The cells of a benchmark with the same library, path and size, in the same buffers or in
        these."""
        case = cell.case
        key = cell.who, cell.place, buffers or case.buffers, case.x, benchmark
        return self._by_benchmark.get(key, [])

    @cached_property
    def varied(self) -> set[tuple[str, str]]:
        """Benchmark and axis, where the study has several values."""
        values: dict[tuple[str, str], set[str]] = defaultdict(set)
        for cell in self.cells:
            for name, value in cell.case.axes.items():
                values[cell.case.benchmark, name].add(value)
        return {where for where, several in values.items() if len(several) > 1}

    def pairs(self, axis: str, *values: str) -> Iterator[tuple[Cell, Cell]]:
        """Two cells of one case that this axis alone tells apart, of all or of these two values."""
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
        """The best of the same case with other values of these axes, of those that are better in
        each block; None where there is none. What is complete for the caller alone is no other
        way to do the same."""
        best: tuple[Cell, Loss] | None = None
        for other in self.beside(cell, cell.case.benchmark):
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
            found = against(cell, other, 1.0)
            if found and found.everywhere and (best is None or found.ratio > best[1].ratio):
                best = other, found
        if best is None:
            return None
        other, found = best
        return Tried(
            axes={
                name: value
                for name, value in other.case.axes.items()
                if value != cell.case.axes.get(name, value)
            },
            value=found.better,
            unit=other.unit,
            ratio=found.ratio,
            blocks=len(found.ratios),
        )

    def with_memory(self, own: str, better: str, limit: float) -> Iterator["Seen"]:
        """Every cell beside the same one with buffers of another kind."""
        cells = {(cell.who, cell.place, cell.case): cell for cell in self.unstaged}
        for cell in self.unstaged:
            buffers = cell.case.buffers.replace(own, better)
            case = msgspec.structs.replace(cell.case, buffers=buffers)
            other = cells.get((cell.who, cell.place, case))
            if other is not None and other is not cell and (loss := against(cell, other, limit)):
                yield Seen(cell, other, loss)

    def doctor(self, diagnosis: str) -> list[Fact]:
        """What doctor said before the study, where that was not well."""
        return [
            Fact(of="doctor", name=diagnosis, value=said.message)
            for said in self.observations.machine.diagnoses
            if said.id == diagnosis and said.severity != "ok"
        ]

    def attainable(self, cell: Cell) -> dict[Block, float]:
        """The best that a library can reach in each block; empty without a ceiling."""
        point = self.ceilings.point(cell.place, cell.case)
        if point is None or cell.by_library is None:
            return {}
        return reference.attainable(cell, point)[0]

    def natural(self, cell: Cell, other: Cell) -> dict[Block, float]:
        """How many times better the other one's ceiling is in each block, both in one unit; empty
        where either has none."""
        return better_in(self.attainable(other), self.attainable(cell), cell.better)

    def lost_us(self, seen: "Seen") -> float:
        """Time that one operation of a cell loses; 0: nobody knows."""
        cell, loss = seen.cell, seen.loss
        if cell.overlap is not None:
            longer = max(cell.overlap.communicate_us, cell.overlap.compute_us)
            return (loss.own - loss.better) * longer
        if seen.other is not None and cell.unit == "us" != seen.other.unit:
            return loss.own - message_us(cell.case.x, loss.better)
        benchmark = self.benchmarks[cell.case.benchmark]
        own, better = (operation_us(cell, value, benchmark) for value in (loss.own, loss.better))
        return own - better if own and better else 0.0

    def apart(self, cell: Cell) -> dict[str, str]:
        """The axes that tell it from all other cells of its path."""
        return {
            name: value
            for name, value in cell.case.axes.items()
            if name == STAGING or (cell.case.benchmark, name) in self.varied
        }

    def evidence(self, seen: "Seen") -> list[Evidence]:
        """Both figures, in each other's unit too where these differ, and the ceilings of both."""
        cell, other, blocks = seen.cell, seen.other, list(seen.loss.ratios)
        own = summed("own", cell, blocks)
        if other is None:
            return [own, *self._ceiling("own ceiling", cell)]
        found = [own, summed("alternative", other, blocks, seen.scaled)]
        if cell.unit == "us" != other.unit:
            found.append(_as_rate(own, cell.case.x))
        if seen.scaled == 1:
            found += self._ceiling("own ceiling", cell)
            found += self._ceiling("alternative ceiling", other)
        return found

    def _ceiling(self, of: EvidenceOf, cell: Cell) -> Iterator[Evidence]:
        """The best that a library can reach, where there is a ceiling."""
        point = self.ceilings.point(cell.place, cell.case) if cell.by_library else None
        if point is not None:
            best = (point.attainable if cell.attainable else None) or point
            yield Evidence(
                of=of, value=best.value, unit=cell.unit, ci95=best.ci95, range=best.range
            )


@dataclass(frozen=True)
class Loss:
    """How many times better another figure is, all of it from the blocks that have both."""

    own: float  # medians, each in its unit
    better: float
    ratios: Mapping[Block, float]  # FEWEST_FOR_SCATTER or more
    limits: Mapping[Block, float]  # from which on it is told

    @cached_property
    def ratio(self) -> float:
        """The median of all blocks."""
        return math.exp(float(np.median(np.log(list(self.ratios.values())))))

    @property
    def range(self) -> Interval:
        """Of all blocks."""
        return min(self.ratios.values()), max(self.ratios.values())

    @property
    def everywhere(self) -> bool:
        """Whether it is above the limit in each block."""
        return min(self.beyond.values()) > 0

    @cached_property
    def beyond(self) -> dict[Block, float]:
        """How far it is above the limit in each block: logarithms."""
        return {block: math.log(own / self.limits[block]) for block, own in self.ratios.items()}

    def surely_beyond(
        self, level: float = CONFIDENCE, blocks: Collection[Block] | None = None
    ) -> bool:
        """Whether the median is above the limit, by its interval in these blocks or all, which
        knows of sessions; False also where they are too few for one."""
        bounds = _interval(self.beyond, level, self.beyond if blocks is None else blocks)
        return bounds is not None and bounds[0] > 1

    def of_medians(self, cell: Cell, other: Cell, scaled: float = 1.0) -> float | None:
        """How many times better the other one's median is in these blocks, where `ratios` are of
        the two figures and it is far from theirs; the others are `scaled`."""
        figures = better_in(times(other, scaled).by_block, cell.by_block, cell.better)
        if any(not math.isclose(figures.get(at, 0.0), own) for at, own in self.ratios.items()):
            return None
        found = better_by(self.better, self.own, cell.better)
        return None if max(found / self.ratio, self.ratio / found) <= UNLIKE else found

    def interval(self, level: float, blocks: Collection[Block]) -> Interval | None:
        """Of the median, by these blocks, and no narrower than to hold that of all; None where they
        are too few for the level."""
        logs = {block: math.log(ratio) for block, ratio in self.ratios.items()}
        return _interval(logs, level, blocks)


def _interval(
    logs: Mapping[Block, float], level: float, blocks: Collection[Block]
) -> Interval | None:
    """Of the median of ratios, of which these are the logarithms, by these blocks; no narrower than
    to hold the median of all."""
    counted = {block: value for block, value in logs.items() if block in blocks}
    if not counted:
        return None
    of = [block.session for block in counted]
    bounds = median_ratio(list(counted.values()), of, level).bounds
    middle = math.exp(float(np.median(list(logs.values()))))
    return bounds and (min(bounds[0], middle), max(bounds[1], middle))


@dataclass(frozen=True)
class Seen:
    """One cell beside what may be better: what is asked, whether or not it loses."""

    cell: Cell
    other: Cell | None  # None: it is held against its own bound
    loss: Loss
    scaled: float = 1.0  # the other one's figures, for so many times its bytes
    ceilings: float | None = None  # how many times better the other one's ceiling is, where asked

    @property
    def natural(self) -> float:
        """So much of the ratio is in the nature of the path, or the ceilings are not asked: 1 or
        more."""
        return max(1.0, self.ceilings or 1.0)


@dataclass(frozen=True)
class Noticed:
    """What was recorded and no ratio of figures tells: it is so, whatever it costs."""

    facts: Sequence[Fact]
    who: Who | None = None  # that it concerns; None: all
    place: Place | None = None
    case: Case | None = None
    evidence: Sequence[Evidence] = ()  # figures that show what it costs, where any do
    command: str = ""  # shows it
    sure: bool = True
    message: InMessage | None = None  # that it is about
    remedy: str = ""  # of these facts alone; empty: that of the rule


@dataclass(frozen=True)
class Rule:
    """One rule: its name, that of its file, and what finds it."""

    name: FindingKind
    tells: str  # what is a finding, for docs/rules.md
    find: Callable[[View], Iterable[Seen | Noticed]]
    remedy: str  # what to do about it, a sentence, beside settings
    sources: Sequence[Reference]  # where this is described, and which findings that fits
    by_settings: bool = False  # the remedy is to run with the settings of the other one
    only_tried: Callable[[Seen], bool] = field(default=lambda _: False)
    settings: Sequence[Setting] = ()  # that may help, of several libraries
    # That may be the reason: told where they are in force, and not suggested.
    reasons: Sequence[Setting] = ()
    axes: Sequence[str] = ()  # other values of which may help
    # Rules with the same word tell of one fault in messages: only the largest share stands alone.
    fault: str = ""
    is_cause: bool = (
        False  # what other rules do not see with the other one is told with its finding
    )
    # The other figure is of something that does less: nobody measured that any of the difference
    # can be saved, so that it is told as a fact that is not sure, and costs nothing.
    does_less: bool = False


def loss(
    cell: Cell, other: Cell, ratios: Mapping[Block, float], limits: Mapping[Block, float]
) -> Loss | None:
    """By how much the other cell is better, of the ratios and limits in each block; None where too
    few have both."""
    ratios = {block: ratio for block, ratio in ratios.items() if block in limits}
    if len(ratios) < FEWEST_FOR_SCATTER:
        return None
    medians = (known.by_block for known in (cell, other))
    own, better = (median([values[block] for block in ratios]) for values in medians)
    return Loss(own, better, ratios, limits)


def above(view: View, cell: Cell, other: Cell, limit: float, scaled: float = 1.0) -> "Seen | None":
    """Both figures of one unit, where the limit is beyond what the ceilings of both explain: that
    of each block. `scaled`: the other one's figures, for so many times its bytes. Without ceilings
    the limit is the same in all blocks."""
    better = times(other, scaled)
    ratios = better_in(better.by_block, cell.by_block, cell.better)
    natural = {
        block: ratio / scaled if cell.better == "lower" else ratio * scaled
        for block, ratio in view.natural(cell, other).items()
    }
    limits = dict.fromkeys(ratios, limit)
    if natural:
        limits = {block: limit * max(1.0, ratio) for block, ratio in natural.items()}
    found = loss(cell, better, ratios, limits)
    if found is None:
        return None
    ceilings = float(np.median([natural[block] for block in found.ratios])) if natural else None
    return Seen(cell, other, found, scaled, ceilings)


def times(cell: Cell, scaled: float) -> Cell:
    """As its figures would be with so many times the bytes."""
    return msgspec.structs.replace(
        cell, launch_medians=[median * scaled for median in cell.launch_medians]
    )


def expected(
    cell: Cell, ratios: Mapping[Block, float], limits: Mapping[Block, float]
) -> Loss | None:
    """As `loss` where the better figure follows from others: `ratios` are how many times better
    than the cell it is."""
    found = loss(cell, cell, ratios, limits)
    if found is None:
        return None
    better = found.own * found.ratio if cell.better == "higher" else found.own / found.ratio
    return replace(found, better=better)


def against(cell: Cell, other: Cell, limit: float) -> Loss | None:
    """The same where both are figures of one unit, and the limit is the same in all blocks."""
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
    """How long a message takes at a rate."""
    return size_bytes / gbs / 1e3


def summed(of: EvidenceOf, cell: Cell, blocks: Sequence[Block], scaled: float = 1.0) -> Evidence:
    """The figure of a cell in these blocks, one or more, times `scaled`."""
    values = [cell.by_block[block] * scaled for block in blocks]
    return Evidence(
        of=of,
        value=float(np.median(values)),
        unit=cell.unit,
        ci95=interval(values, sessions=[block.session for block in blocks], positive=True),
        range=(min(values), max(values)),
        window=cell.window,
        scaled=scaled,
    )


def _as_rate(time: Evidence, size_bytes: int) -> Evidence:
    """The same of messages one after the other, as a rate."""

    def gbs(us: float) -> float:
        return size_bytes / us / 1e3

    return msgspec.structs.replace(
        time,
        value=gbs(time.value),
        unit="GB/s",
        ci95=time.ci95 and (gbs(time.ci95[1]), gbs(time.ci95[0])),
        range=(gbs(time.range[1]), gbs(time.range[0])),
    )
