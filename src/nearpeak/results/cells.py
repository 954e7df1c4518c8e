# SPDX-License-Identifier: Apache-2.0
"""From observations to cells: the launches of each case, its failures, and the summaries."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from typing import NamedTuple

import numpy as np

from nearpeak.grouping import collected, grouped, present
from nearpeak.observations.observed import Block, Gap, Observation, Observations
from nearpeak.results import counted, reference
from nearpeak.results.blocks import middle, sessions_of
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.overlap import overlap
from nearpeak.results.percentiles import over_launches
from nearpeak.results.results import (
    HOST_CACHES,
    CeilingPoint,
    CeilingValue,
    Cell,
    Flag,
    Mode,
    OfPlateau,
)
from nearpeak.statistics.comparisons import better_by, better_in, median_ratio
from nearpeak.statistics.intervals import Interval, all_known, goal, interval, precise, spanning
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.statistics.modes import two_modes
from nearpeak.statistics.sessions import apart
from nearpeak.statistics.strata import GAP
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.identity import CEILING, Case, Place, Who
from nearpeak.terms.outcomes import TOO_SLOW, CellStatus

ABOVE = 1.03  # a larger fraction has a flag; a defect of the ceiling where its interval is above 1

# What counts against a library.
FAILED: tuple[CellStatus, ...] = ("wrong data", "crashed", "hung", "failed", TOO_SLOW)
# A cell with several is called by the first.
WORST_FIRST: tuple[CellStatus, ...] = (*FAILED, "skipped", "above ceiling", "no ceiling")

Key = tuple[Who, Place, Case]


@dataclass
class Gathered:
    """Everything known of one cell: the launches that measured it, and those that did not."""

    measured: list[Observation]
    gaps: list[Gap]

    @property
    def counting(self) -> list[Gap]:
        """The gaps that say something of it: one that failed before it came to it does so only
        where no other launch does."""
        reached = [gap for gap in self.gaps if gap.reached]
        return reached if reached or self.measured else self.gaps

    def ended(self, status: CellStatus) -> int:
        """The number of launches that ended so in it."""
        return sum(gap.status == status for gap in self.counting)

    @property
    def believed(self) -> list[Observation]:
        """The observations that count, in block order; none where data was wrong in any launch."""
        if any(gap.status == "wrong data" for gap in self.gaps):
            return []
        return sorted(self.measured, key=lambda measured: measured.launch.block)

    @property
    def at_least(self) -> float | None:
        """The least that it takes where launches gave it up."""
        return min((gap.at_least for gap in self.gaps if gap.at_least is not None), default=None)

    @property
    def command(self) -> str:
        """The command of the last launch that measured it and ended well, else of the last one at
        all."""
        measured = [observation.launch for observation in self.measured]
        good = [launch for launch in measured if launch.status == "ok"]
        return (good or measured or [gap.launch for gap in self.gaps])[-1].command


def gather(observations: Observations) -> dict[Key, Gathered]:
    """Every cell that a launch measured or tried to."""
    observed = [seen for seen in observations.observed if seen.launch.who != CEILING]
    missed = [gap for gap in observations.gaps if gap.launch.who != CEILING]
    measured, gaps = grouped(observed, _key), grouped(missed, _key)
    return {
        key: Gathered(measured.get(key, []), gaps.get(key, []))
        for key in dict.fromkeys([*measured, *gaps])
    }


def _key(seen: Observation | Gap) -> Key:
    return seen.launch.who, seen.launch.place, seen.case


def summarise(
    observations: Observations, ceilings: Ceilings, drifted: Collection[tuple[Place, Block]]
) -> list[Cell]:
    """The cells, in the order of the plan. `drifted`: where and when a path was not as usual."""
    places = {path.place: number for number, path in enumerate(observations.paths)}
    owners = {library.who: number for number, library in enumerate(observations.libraries)}
    curves = {curve: number for number, curve in enumerate(observations.curves)}

    def order(key: Key) -> tuple[int, int, int, int]:
        who, place, case = key
        return places[place], owners[who], curves[case.curve], case.x

    gathered = gather(observations)
    imported = {library.who for library in observations.libraries if library.imported}
    return [
        _cell(
            key,
            gathered[key],
            named(observations.benchmarks, key[2].benchmark),
            ceilings,
            drifted,
            imported=key[0] in imported,
        )
        for key in sorted(gathered, key=order)
    ]


def _cell(
    key: Key,
    gathered: Gathered,
    benchmark: Benchmark,
    ceilings: Ceilings,
    drifted: Collection[tuple[Place, Block]],
    *,
    imported: bool,
) -> Cell:
    who, place, case = key
    believed = gathered.believed
    medians = [observation.summary.median for observation in believed]
    metric = benchmark.metric(case.metric)
    cell = Cell(
        who=who,
        place=place,
        case=case,
        unit=metric.unit,
        better=metric.better,
        window=believed[0].window if believed else None,
        operations=believed[0].operations if believed else 1,
        median=None,
        ci95=None,
        range=None,
        launch_medians=medians,
        blocks=[observation.launch.block for observation in believed],
        cache_line_ns=[observation.cache_line_ns for observation in believed],
        p05=None,
        p95=None,
        minimum=None,
        first_use_us=None,
        at_least=gathered.at_least,
        launches=len(medians),
        ceiling=None,
        fraction=None,
        fraction_ci95=None,
        status="ok",
        flags=[],
        command=gathered.command,
    )
    wrong: set[CellStatus] = {gap.status for gap in gathered.counting}
    if believed:
        _sum_up(cell, believed)
        cell.flags = _flags(cell, believed, drifted)
        cell.modes = _modes(believed)
        if cell.modes:
            cell.flags.append("bimodal")
        # Empty messages have no rate.
        if benchmark.has_ceiling and (case.x > 0 or metric.better == "lower"):
            ceiling = ceilings.point(place, case)
            faults = (_compare_at_another_time if imported else _compare)(cell, ceiling)
            # Not every bound follows from what was measured: then nothing is missing.
            wrong |= faults if benchmark.ceiling == "measured" else faults - {"no ceiling"}
            if not imported:
                plateau = ceilings.plateau(place, case.curve, cell.better)
                cell.of_plateau = of_plateau(cell, ceiling, plateau)
                cell.lost_us = _lost_us(cell, benchmark)
    cell.status = min(wrong, key=WORST_FIRST.index, default="ok")
    cell.failed = gathered.ended(cell.status) if cell.status in FAILED else 0
    return cell


def _sum_up(cell: Cell, believed: list[Observation]) -> None:
    medians = cell.launch_medians
    cell.median = float(np.median(medians))
    cell.ci95 = interval(medians, sessions=sessions_of(cell.blocks), positive=True)
    cell.range = (min(medians), max(medians))
    summaries = [observation.summary for observation in believed]
    cell.minimum = min(all_known(summary.minimum for summary in summaries), default=None)
    cell.first_use_us = middle(present(observation.first_use_us for observation in believed))
    if samples := all_known(observation.samples for observation in believed):
        low, high = np.percentile(np.concatenate(samples), [5, 95])
        cell.p05, cell.p95 = float(low), float(high)
    cell.percentiles = over_launches(
        {one.launch.block: one.percentiles for one in believed if one.percentiles}
    )
    cell.overlap = overlap(believed)
    cell.counted = counted.of_case(believed)
    if outliers := all_known(summary.outliers for summary in summaries):
        count = sum(all_known(summary.count for summary in summaries))
        cell.outlier_share = sum(outliers) / count


def _flags(
    cell: Cell, believed: list[Observation], drifted: Collection[tuple[Place, Block]]
) -> list[Flag]:
    enough = cell.launches >= FEWEST_FOR_INTERVAL
    sessions = sessions_of(cell.blocks)
    flags: dict[Flag, bool] = {
        "few launches": not enough,
        "mean": any(observation.summary.mean for observation in believed),
        "imprecise": not (
            precise(cell.launch_medians, cell.better, sessions) if enough else _together(cell)
        ),
        "sessions apart": enough and apart(cell.launch_medians, sessions, positive=True),
        "few samples": any(observation.limited for observation in believed),
        "held down": any(observation.launch.held_down for observation in believed),
        "drift": any((cell.place, block) in drifted for block in cell.blocks),
    }
    return [name for name, raised in flags.items() if raised]


def _together(cell: Cell) -> bool:
    """True if its launches, too few for an interval, lie within the aim of an interval."""
    low, high = min(cell.launch_medians), max(cell.launch_medians)
    return (high - low) / 2 <= goal(cell.better) * abs(cell.median or 0.0)


def _compare(cell: Cell, ceiling: CeilingPoint | None) -> set[CellStatus]:
    """Sets the ceilings and the fractions of them. Returns the faults of the comparison."""
    if ceiling is None:
        return {"no ceiling"}
    reached = _fraction(cell, reference.against(cell, ceiling))
    if reached is None:
        moved = not {*cell.blocks}.isdisjoint([*ceiling.blocks, *ceiling.passed_over])
        cell.no_fraction = "other distance" if moved else "other blocks"
        return {"no ceiling"}
    cell.ceiling = CeilingValue(value=ceiling.value, method=ceiling.method, kind=ceiling.kind)
    cell.fraction, cell.fraction_ci95 = reached.value, reached.ci95
    cell.fraction_range, cell.fraction_blocks = reached.range, reached.blocks
    if reached.apart:
        cell.flags.append("fractions apart")
    attainable = ceiling.attainable
    if attainable is not None and (reached := _fraction(cell, reference.attainable(cell, ceiling))):
        cell.attainable = CeilingValue(value=attainable.value, method=attainable.method)
        cell.fraction_attainable = reached.value
        cell.fraction_attainable_ci95 = reached.ci95
        cell.fraction_attainable_range = reached.range
    if cell.fraction_blocks < cell.launches:
        cell.flags.append("fewer blocks")
    if cell.fraction > ABOVE:
        cell.flags.append("above ceiling")
    return {"above ceiling"} if is_defect(cell) else set()


def _compare_at_another_time(cell: Cell, ceiling: CeilingPoint | None) -> set[CellStatus]:
    """The same for imported figures: no block has both, so the uncertainty is not known.

    No fraction where the ceiling's CPUs were at several distances: that of the import
    is not known, and the median of all is the ceiling of none.
    """
    if ceiling is None or cell.median is None:
        return {"no ceiling"}
    if len(reference.distance_ranges(ceiling)) > 1:
        return set()
    cell.ceiling = CeilingValue(value=ceiling.value, method=ceiling.method, kind=ceiling.kind)
    if cell.median > 0:  # other tools print shorter times as 0.00
        cell.fraction = better_by(cell.median, ceiling.value, cell.better)
        cell.flags.append("fewer blocks")
    return set()


def _lost_us(cell: Cell, benchmark: Benchmark) -> float | None:
    share = cell.fraction if cell.fraction_attainable is None else cell.fraction_attainable
    took_us = operation_us(cell, cell.median or 0.0, benchmark)
    return None if share is None or took_us is None else max(0.0, took_us * (1 - share))


def of_plateau(
    cell: Cell, ceiling: CeilingPoint | None, plateau: CeilingPoint | None
) -> OfPlateau | None:
    """The fraction of the plateau; None where no block has both, there is none, or it is one of
    memory and the cell's bytes, like those of its ceiling, lie in the host's caches."""
    in_cache = ceiling is not None and ceiling.lies_in in HOST_CACHES
    if plateau is None or (in_cache and plateau.lies_in not in HOST_CACHES):
        return None
    reached = _fraction(cell, reference.against(cell, plateau))
    if reached is None:
        return None
    return OfPlateau(
        value=plateau.value,
        x=plateau.case.x,
        method=plateau.method,
        fraction=reached.value,
        ci95=reached.ci95,
        range=reached.range,
        blocks=reached.blocks,
    )


class _Fraction(NamedTuple):
    value: float
    ci95: Interval | None
    range: tuple[float, float]
    blocks: int
    apart: bool  # whether sessions, by any reading, are: its interval takes that in


def _fraction(cell: Cell, readings: Sequence[dict[Block, float]]) -> _Fraction | None:
    """The fraction of a ceiling, in the blocks that measured both; near to 1 is near to it.

    The interval spans those of all readings; None: no block has both.
    """
    shares = [better_in(cell.by_block, reading, cell.better) for reading in readings]
    if not shares[0]:
        return None
    with_sessions = [(np.log([*s.values()]), sessions_of(s)) for s in shares]
    ratios = list(starmap(median_ratio, with_sessions))
    values = [*chain.from_iterable(by_block.values() for by_block in shares)]
    bounds = spanning(ratio.bounds for ratio in ratios)
    differ = bounds is not None and any(starmap(apart, with_sessions))
    return _Fraction(ratios[0].value, bounds, (min(values), max(values)), len(shares[0]), differ)


def operation_us(cell: Cell, value: float, benchmark: Benchmark) -> float | None:
    """The time of an operation at a value in the cell's unit; None: the unit does not give it. Of a
    rate that counts both ways, or all pairs, all messages are the operation."""
    if cell.unit == "us":
        return value
    if cell.unit != "GB/s" or not value:
        return None
    return cell.case.x * benchmark.moves.ways * (len(cell.place.ends) // 2) / value / 1e3


def is_defect(cell: Cell) -> bool:
    """Above the ceiling by more than noise explains: the ceiling is wrong there."""
    span = cell.fraction_ci95 or cell.fraction_range
    return (cell.fraction or 0.0) > ABOVE and span is not None and span[0] > 1


def _modes(believed: list[Observation]) -> list[Mode]:
    """Both modes of the launch medians, the lower first; empty when there is but one."""
    upper = two_modes([observation.summary.median for observation in believed])
    if upper is None:
        return []
    sides = collected(zip(map(bool, upper), believed, strict=True))
    return [_mode(sides[False], sides[True]), _mode(sides[True], sides[False])]


def _mode(launches: list[Observation], others: list[Observation]) -> Mode:
    return Mode(
        median=float(np.median([observation.summary.median for observation in launches])),
        share=len(launches) / (len(launches) + len(others)),
        blocks=[observation.launch.block for observation in launches],
        conditions=_apart(launches, others) | _distance(launches, others),
    )


def _apart(launches: list[Observation], others: list[Observation]) -> dict[str, str]:
    """The conditions that all of these launches share, and none of the others."""
    first, *rest = ([*observation.launch.conditions.items()] for observation in launches)
    theirs = (observation.launch.conditions.items() for observation in others)
    telling = set(first).intersection(*rest).difference(*theirs)
    return dict(filter(telling.__contains__, first))


def _distance(launches: list[Observation], others: list[Observation]) -> dict[str, str]:
    """The distance of the CPUs, if they were nearer or farther in all of these launches than in any
    of the others."""
    distances = all_known(observation.cache_line_ns for observation in launches + others)
    if not distances:
        return {}
    ours, theirs = distances[: len(launches)], distances[len(launches) :]
    if not (max(ours) * GAP < min(theirs) or max(theirs) * GAP < min(ours)):
        return {}
    return {"cache line between the CPUs": f"{min(ours):.0f} to {max(ours):.0f} ns"}
