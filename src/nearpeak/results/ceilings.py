# SPDX-License-Identifier: Apache-2.0
"""What each path carries without MPI, and the one way to find the ceiling of a case."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from nearpeak.identity import CEILING, Case, Curve, Place
from nearpeak.observations.model import Block, Observation, Observations
from nearpeak.results.model import CeilingPoint, Pace
from nearpeak.statistics.intervals import interval, spanning
from nearpeak.statistics.paces import borders, of_better
from nearpeak.study.benchmarks import Better
from nearpeak.study.buffers import ceiling_buffers, on_host
from nearpeak.study.model import GPU_FACTS


class Reached(NamedTuple):
    """What a method reached in one block."""

    value: float
    otherwise: float  # the same, if its paces are judged as they may be too
    trial: bool  # in a short trial, where others were better
    paces: tuple[Pace, ...] = ()  # the better one first, where the method and the launch have two
    cache_line_ns: float | None = None


Where = tuple[Place, Case]
Methods = dict[str, dict[Block, Reached]]  # by name and block


def best(values: Mapping[str, float], better: Better) -> str:
    """The name of the best value."""
    return (max if better == "higher" else min)(values, key=lambda name: values[name])


def find(observations: Observations) -> list[CeilingPoint]:
    """Every ceiling, in order of place and case.

    A launch of a ceiling counts with the median of its samples, as one of a library does; where
    its method has two paces, in all launches together, with that of the better one, for it is what
    the path can carry. Where that is not sure, the interval spans both. The
    method with the best median over all blocks wins for the whole study: were it chosen anew in
    each block, the ceiling would be the luckiest of several launches. So would one that only a few
    blocks have: a winner has more than half of them, where any method does. What moves a whole
    window at once never wins.
    """
    found: dict[Where, dict[str, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    together: dict[Where, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in observations.observed:
        if one.launch.who != CEILING:
            continue
        where = (one.launch.place, one.case)
        if one.together:
            together[where][one.method].append(one.summary.median)
        else:
            found[where][one.method].append(one)
    return [_point(where, found[where], together[where]) for where in sorted(found)]


def _reached(launches: list[Observation]) -> dict[Block, Reached]:
    """What a method reached in each of its launches."""
    judged = borders(
        [one.samples for one in launches if one.samples is not None], launches[0].better
    )
    return {
        one.launch.block: Reached(
            value=_median(one, judged[0]),
            otherwise=_median(one, judged[-1]),
            trial=one.trial,
            paces=_paces(one, judged[0]),
            cache_line_ns=one.cache_line_ns,
        )
        for one in launches
    }


def _median(one: Observation, border: float | None) -> float:
    """Of a launch: of its better pace."""
    if one.samples is None or border is None:
        return one.summary.median
    return float(np.median(one.samples[of_better(one.samples, border, one.better)]))


def _paces(one: Observation, border: float | None) -> tuple[Pace, ...]:
    """Both paces of a launch, the better one first; nothing where it has but one."""
    if one.samples is None:
        return ()
    part = of_better(one.samples, border, one.better)
    if part.all():
        return ()
    return tuple(
        Pace(value=float(np.median(one.samples[side])), share=float(np.mean(side)), launches=1)
        for side in (part, ~part)
    )


def _point(
    where: Where, found: Mapping[str, list[Observation]], together: Mapping[str, list[float]]
) -> CeilingPoint:
    methods = {name: _reached(launches) for name, launches in found.items()}
    kind = next(iter(found.values()))[0]
    method, by_block = _best(methods, kind.better)
    blocks = sorted(by_block)
    carried = [by_block[block].value for block in blocks]
    sessions = [block.session for block in blocks]
    other = {name: _otherwise(reached) for name, reached in methods.items()}
    by_other = _best(other, kind.better)[1]
    otherwise = [by_other.get(block, by_block[block]).value for block in blocks]
    if otherwise == carried:
        otherwise = []
    place, case = where
    return CeilingPoint(
        place=place,
        case=case,
        unit=kind.unit,
        better=kind.better,
        value=float(np.median(carried)),
        ci95=spanning(
            interval(one, sessions=sessions, positive=True) for one in (carried, otherwise) if one
        ),
        range=(min(carried), max(carried)),
        values=carried,
        otherwise=otherwise,
        blocks=blocks,
        cache_line_ns=[_distance(by_block[block], methods, block) for block in blocks],
        method=method,
        methods=_medians(methods),
        together={name: float(np.median(reached)) for name, reached in together.items()},
        modes=_modes([reached for reached in methods[method].values() if reached.paces]),
        fact=case.metric in GPU_FACTS,
    )


def _otherwise(reached: dict[Block, Reached]) -> dict[Block, Reached]:
    """What a method reached, if its paces are judged as they may be too."""
    return {block: one._replace(value=one.otherwise) for block, one in reached.items()}


def _medians(methods: Methods) -> dict[str, float]:
    return {
        name: float(np.median([reached.value for reached in blocks.values()]))
        for name, blocks in methods.items()
    }


def _best(methods: Methods, better: Better) -> tuple[str, dict[Block, Reached]]:
    """The method that wins, and what the path carried in each block that has it."""
    values = _medians(methods)
    measured = set[Block]().union(*methods.values())
    usual = {name: values[name] for name in methods if 2 * len(methods[name]) > len(measured)}
    method = best(usual or values, better)
    return method, _by_block(methods, method, better)


def _distance(carried: Reached, methods: Methods, block: Block) -> float | None:
    """Of the CPUs in a block: that of what counts there. A trial has none: then the middle of what
    the measured methods found; None: nothing."""
    if carried.cache_line_ns is not None:
        return carried.cache_line_ns
    found = [blocks[block].cache_line_ns for blocks in methods.values() if block in blocks]
    known = [one for one in found if one is not None]
    return float(np.median(known)) if known else None


def _modes(reached: list[Reached]) -> list[Pace]:
    """Both paces of a method over the launches that have two."""
    return [
        Pace(
            value=float(np.median([pace.value for pace in paces])),
            share=float(np.mean([pace.share for pace in paces])),
            launches=len(paces),
        )
        for paces in zip(*(one.paces for one in reached), strict=True)
    ]


def _by_block(methods: Methods, winner: str, better: Better) -> dict[Block, Reached]:
    """What the path carried in each block that has the winner.

    Where the winner had but a trial, others were measured because theirs were better: the best of
    these and of it counts, as the few samples of a trial may be too low a ceiling.
    """
    found = {}
    for block, reached in methods[winner].items():
        counting = {
            name: blocks[block]
            for name, blocks in methods.items()
            if name == winner or (reached.trial and block in blocks and not blocks[block].trial)
        }
        values = {name: one.value for name, one in counting.items()}
        found[block] = counting[best(values, better)]
    return found


class Ceilings:
    """All ceilings of a study, found by place and case: the one place that matches the two.

    A ceiling holds for a case of the same benchmark, metric and x, with buffers in the same
    memories, if each axis that it names has the same value in the case. Between unlike memories
    half a round trip is the mean of two ways, and no ceiling of one.
    """

    def __init__(self, points: Iterable[CeilingPoint]) -> None:
        self._points: dict[tuple[Place, str, str, str], dict[int, list[CeilingPoint]]] = {}
        for point in points:
            curves = self._points.setdefault((point.place, *_what(point.case)), {})
            curves.setdefault(point.case.x, []).append(point)

    def of(self, place: Place, case: Case) -> CeilingPoint | None:
        """The best ceiling that holds for a case; None when no one was measured."""
        found = self._points.get((place, *_what(case)), {}).get(case.x, [])
        holding = [point for point in found if _holds(point, case)]
        if not holding:
            return None
        sign = 1 if holding[0].better == "higher" else -1
        return max(holding, key=lambda point: sign * point.value)

    def curve(self, place: Place, curve: Curve) -> list[CeilingPoint]:
        """The ceiling under a curve, in the order of x."""
        found = self._points.get((place, *_what(curve)), {})
        return [point for x in sorted(found) if (point := self.of(place, curve.at(x)))]


def _what(case: Curve) -> tuple[str, str, str]:
    return case.benchmark, case.metric, ceiling_buffers(case.buffers)


def _holds(point: CeilingPoint, case: Case) -> bool:
    mixed = len(set(on_host(point.case.buffers))) > 1
    if mixed and case.axes.get("direction", "both") != "both":
        return False
    return all(case.axes.get(name, value) == value for name, value in point.case.axes.items())
