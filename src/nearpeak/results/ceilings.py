# SPDX-License-Identifier: Apache-2.0
"""The ceilings of a study, and the fraction of them that a cell reaches."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nearpeak.results import statistics
from nearpeak.results.model import CeilingPoint, Pace
from nearpeak.results.reading import StudyData
from nearpeak.study.buffers import ceiling_buffers
from nearpeak.study.precision import interval
from nearpeak.study.records import SamplesRecord

PROBE = "probe"  # the benchmark name of the drift probe, which is no ceiling
TRIAL = "a short trial"  # how the reason begins why a method has but a few samples


@dataclass
class Ceiling:
    """One point of a path's ceiling, with what the winning method reached in each block."""

    point: CeilingPoint
    by_block: dict[int, float]


class Reached(NamedTuple):
    """What a method reached in one block."""

    value: float
    trial: bool  # in a short trial, where others were better
    paces: tuple[Pace, ...] = ()  # the better one first, where the launch has two


Where = tuple[str, str, int, str]  # path, metric, size in bytes, buffers of ceilings
Axes = tuple[tuple[str, str], ...]
Methods = dict[str, dict[int, Reached]]  # by name and block


def best(values: dict[str, float], better: str) -> str:
    """The name of the best value."""
    return (max if better == "higher" else min)(values, key=lambda name: values[name])


def find(data: StudyData) -> dict[Where, list[Ceiling]]:
    """Every ceiling of the study.

    A launch of a ceiling counts with the median of its samples, as one of a library does; where
    they fall into two paces, with that of the better one, for it is what the path can carry. The
    method with the best median over all blocks wins for the whole study: were it chosen anew in
    each block, the ceiling would be the luckiest of several launches. So would one that only a few
    blocks have: a winner has more than half of them, where any method does. What moves a whole
    window at once never wins.
    """
    curves: dict[tuple[Where, Axes], Methods]
    curves = defaultdict(lambda: defaultdict(dict))
    kinds: dict[Where, SamplesRecord] = {}
    together: dict[tuple[Where, Axes], dict[str, list[float]]]
    together = defaultdict(lambda: defaultdict(list))
    for launch in data.launches:
        if launch.begin.role != "ceiling":
            continue
        for case in launch.believable:
            record = case.record
            if record.benchmark == PROBE:
                continue
            where = (launch.begin.path, record.metric, record.size_bytes, record.buffers)
            axes = tuple(sorted(record.axes.items()))
            name = record.method or ""
            if record.together:
                together[where, axes][name].append(float(np.median(case.samples)))
                continue
            kinds[where] = record
            trial = (record.limited or "").startswith(TRIAL)
            paces = _paces(case.samples, record.better)
            value = paces[0].value if paces else float(np.median(case.samples))
            curves[where, axes][name][launch.begin.block] = Reached(value, trial, paces)
    found: dict[Where, list[Ceiling]] = defaultdict(list)
    for (where, axes), methods in curves.items():
        path, metric, size_bytes, buffers = where
        kind = kinds[where]
        values = {
            name: float(np.median([reached.value for reached in blocks.values()]))
            for name, blocks in methods.items()
        }
        measured = set[int]().union(*methods.values())
        usual = {name: values[name] for name in methods if 2 * len(methods[name]) > len(measured)}
        method = best(usual or values, kind.better)
        by_block = _by_block(methods, method, kind.better)
        launches = list(by_block.values())
        point = CeilingPoint(
            path=path,
            metric=metric,
            size_bytes=size_bytes,
            buffers=buffers,
            axes=dict(axes),
            unit=kind.unit,
            better=kind.better,
            value=float(np.median(launches)),
            ci95=interval(launches),
            range=(min(launches), max(launches)),
            method=method,
            methods=values,
            together={
                name: float(np.median(reached)) for name, reached in together[where, axes].items()
            },
            modes=_modes([reached for reached in methods[method].values() if reached.paces]),
            launches=len(launches),
        )
        found[where].append(Ceiling(point, by_block))
    return found


def _paces(samples: statistics.Floats, better: str) -> tuple[Pace, ...]:
    """Both paces of one launch's samples, the better one first; empty when there is but one."""
    upper = statistics.two_paces(samples)
    if upper is None:
        return ()
    sides = (upper, ~upper) if better == "higher" else (~upper, upper)
    return tuple(
        Pace(value=float(np.median(samples[side])), share=float(np.mean(side)), launches=1)
        for side in sides
    )


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


def _by_block(methods: Methods, winner: str, better: str) -> dict[int, float]:
    """What the path carried in each block that has the winner.

    Where the winner had but a trial, others were measured because theirs were better: the best of
    these and of it counts, as the few samples of a trial may be too low a ceiling.
    """
    found = {}
    for block, reached in methods[winner].items():
        counting = {
            name: blocks[block].value
            for name, blocks in methods.items()
            if name == winner or (reached.trial and block in blocks and not blocks[block].trial)
        }
        found[block] = counting[best(counting, better)]
    return found


def matching(
    ceilings: dict[Where, list[Ceiling]], where: Where, axes: dict[str, str], better: str
) -> Ceiling | None:
    """The best ceiling that holds for a case; None when no one was measured.

    `where` has the buffers of the case: `ceiling_buffers` says whose ceiling holds for them.
    """
    path, metric, size_bytes, buffers = where
    where = (path, metric, size_bytes, ceiling_buffers(buffers))
    holding = [ceiling for ceiling in ceilings.get(where, []) if ceiling.point.fits(axes)]
    sign = 1 if better == "higher" else -1
    return max(holding, key=lambda ceiling: sign * ceiling.point.value, default=None)


def fractions(
    medians: list[float], blocks: list[int], ceiling: Ceiling, better: str
) -> list[float]:
    """Of each block that measured both: how near the launch median is to the ceiling there.

    Rates: measured / ceiling. Times: ceiling / measured. Near to 1 is near to the ceiling.
    """
    pairs = [
        (median, ceiling.by_block[block])
        for median, block in zip(medians, blocks, strict=True)
        if block in ceiling.by_block and median > 0 and ceiling.by_block[block] > 0
    ]
    if better == "higher":
        return [median / limit for median, limit in pairs]
    return [limit / median for median, limit in pairs]
