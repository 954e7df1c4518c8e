# SPDX-License-Identifier: Apache-2.0
"""The levels of a row, and which of its losses still hold."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.history.courses import Course, Step
from nearpeak.statistics import change_points
from nearpeak.statistics.verdicts import FASTER, SLOWER

_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


def course(
    row: Floats, changes: Sequence[change_points.Step], tolerance: float, first_that_counts: int
) -> Course:
    """A row with its changes; `first_that_counts`: the first session whose loss is a regression."""
    ends = [0, *(change.at for change in changes), len(row)]
    levels = [row[start:end] for start, end in pairwise(ends)]
    values = row[~np.isnan(row)]
    usual = float(np.nanmedian(levels[0])) if _measured(levels[0]) else values[0]
    off = np.concatenate([level - np.nanmedian(level) for level in levels if _measured(level)])
    enough = len(values) >= change_points.FEWEST
    return Course(
        values=[None if np.isnan(value) else float(np.exp(value - usual)) for value in row],
        steps=list(_steps(changes, _medians(levels), math.log1p(tolerance), first_that_counts)),
        scatter=_MAD * float(np.nanmedian(np.abs(off))) if enough else None,
    )


def _steps(
    changes: Sequence[change_points.Step],
    levels: Sequence[float],
    tolerance: float,
    first_that_counts: int,
) -> Iterator[Step]:
    """Yields the changes that exceed the tolerance, each together with the smaller ones since the
    last that did, or since the first session that counts."""
    before, newest, accepted = levels[0], levels[-1], False
    for change, last, level in zip(changes, levels, levels[1:], strict=False):
        if not accepted and change.at >= first_that_counts:
            before, accepted = last, True
        if abs(level - before) <= tolerance:
            continue
        yield Step(
            session=change.at,
            first=change.possible[0],
            last=change.possible[1],
            ratio=math.exp(level - before),
            ratio_now=math.exp(newest - before),
            p_adjusted=change.p_adjusted,
            verdict=FASTER if level > before else SLOWER,
            regressed=accepted and level < before and newest - before < -tolerance,
        )
        before = level


def _medians(levels: Sequence[Floats]) -> list[float]:
    """The median of each level; of one without a value, that of the one before."""
    medians: list[float] = []
    for level in levels:
        medians.append(float(np.nanmedian(level)) if _measured(level) else medians[-1])
    return medians


def _measured(level: Floats) -> bool:
    return not bool(np.isnan(level).all())
