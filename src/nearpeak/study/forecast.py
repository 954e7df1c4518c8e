# SPDX-License-Identifier: Apache-2.0
"""Forecasts the precision of a study after more time, from plain numbers, and describes it.

The unit is the launch; half widths are of 95 % intervals of the median, relative to it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.numbers import count, percent
from nearpeak.statistics.intervals import (
    GOAL_HIGHER,
    GOAL_LOWER,
    expected_half_width,
    half_width,
)
from nearpeak.statistics.sessions import apart
from nearpeak.terms.sizes import format_seconds

MORE_SECONDS = 300.0


class Forecast(NamedTuple):
    """The median cell now, and after more time."""

    cells: int
    launches: int
    fewest: int  # launches of a cell
    most: int
    half_width: float | None  # None: too few launches for an interval
    apart: int  # cells whose sessions differ: their width comes from these, not from launches
    more_seconds: float
    more_launches: int
    # The median half width of the other cells by then; None if there is none now.
    then: float | None


def forecast(
    medians: Sequence[Sequence[float]],
    block_seconds: float,
    more_seconds: float = MORE_SECONDS,
    sessions: Sequence[Sequence[int]] | None = None,
    going: Sequence[bool] | None = None,
) -> Forecast | None:
    """Returns the precision now, and after `more_seconds`; None without any cell.

    `medians`: the launch medians (above 0) of each cell; `sessions`: the session of each, if there
    are several; `going`: whether the cell gets more launches, which a precise one does not.
    `block_seconds`: of one launch more of every cell that does. An interval is assumed to shrink
    with more launches as that of normal ones does. If sessions differ, the effect of more launches,
    which are of another session, is unknown: that cell counts in `apart`.
    """
    given = sessions or [[0] * len(values) for values in medians]
    further = going or [True] * len(medians)
    cells = [cell for cell in zip(medians, given, further, strict=True) if cell[0]]
    if not cells:
        return None
    more_launches = int(more_seconds / block_seconds) if block_seconds > 0 else 0
    widths = [half_width(values, session_ids) for values, session_ids, _ in cells]
    differ = [
        width is not None and apart(values, session_ids, positive=True)
        for (values, session_ids, _), width in zip(cells, widths, strict=True)
    ]
    then = [
        _later(values, width, len(values) + more_launches) if goes_on else width
        for (values, _, goes_on), width, differs in zip(cells, widths, differ, strict=True)
        if not differs
    ]
    launches = [len(values) for values, *_ in cells]
    return Forecast(
        cells=len(cells),
        launches=int(np.median(launches)),
        fewest=min(launches),
        most=max(launches),
        half_width=_middle(widths),
        apart=sum(differ),
        more_seconds=more_seconds,
        more_launches=more_launches,
        then=_middle(then) if then else None,
    )


def sentence(outlook: Forecast, command: str) -> str:
    """Describes a forecast for people: a few sentences on one line, with the command that measures
    so much more."""
    figures, launches = count(outlook.cells, "figure"), count(outlook.most, "launch")
    if outlook.fewest < outlook.most:
        launches = f"{outlook.fewest} to {launches}"
    time = f"Another {format_seconds(outlook.more_seconds)} would"
    if outlook.half_width is None:
        text = f"Half of the {figures} or more have too few launches ({launches}) for an interval."
    else:
        text = (
            f"{figures} with {launches} each: the median figure has a 95 % interval of "
            f"± {percent(outlook.half_width)} %."
        )
    others = ""
    if outlook.apart:
        text += (
            f" {outlook.apart} of them {'differs' if outlook.apart == 1 else 'differ'} between"
            " sessions by more than launches explain, which more launches do not narrow."
        )
        others = " of the others"
    if outlook.more_launches == 0:
        return f"{text} {time} not be enough for one more launch of each."
    brought = f"{text} {time} add {count(outlook.more_launches, 'launch')} of each"
    if outlook.half_width is None:
        if expected_half_width(1.0, outlook.launches + outlook.more_launches) is None:
            return f"{brought}, still too few for an interval: {command}"
        return f"{brought}, enough for one; so few cannot predict its width: {command}"
    if outlook.then is None and not outlook.apart:
        return f"{brought}: {command}"
    if outlook.then is None:
        return f"{brought}, as another session, which shows how far sessions scatter: {command}"
    return (
        f"{brought} and narrow the median figure{others} to about ± {percent(outlook.then)} %, if"
        f" the session that adds them is like those before: {command}"
    )


def imprecise(precise: Sequence[bool]) -> str:
    """Counts the cells that are not precise, for people; "" when all are."""
    few = precise.count(False)
    if not few:
        return ""
    return (
        f"{few} of {count(len(precise), 'figure')} {'is' if few == 1 else 'are'} less precise than"
        f" aimed at ({100 * GOAL_HIGHER:g} % for rates, {100 * GOAL_LOWER:g} % for times)"
    )


def _later(values: Sequence[float], width: float | None, launches: int) -> float | None:
    """Returns the half width with this number of launches. None without one now: the scatter of few
    launches says too little of that of more."""
    now, then = expected_half_width(1.0, len(values)), expected_half_width(1.0, launches)
    return width * then / now if width is not None and now and then else None


def _middle(values: Sequence[float | None]) -> float | None:
    """Returns the median over cells; None where more than half have none."""
    comparable = [float("inf") if value is None else value for value in values]
    middle = float(np.median(comparable))
    return middle if np.isfinite(middle) else None
