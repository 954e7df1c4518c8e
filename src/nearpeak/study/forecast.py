# SPDX-License-Identifier: Apache-2.0
"""How precise a study is, and what more time would bring: plain numbers in, numbers and words out.

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
    """The cell in the middle now, and after more time."""

    cells: int
    launches: int
    fewest: int  # launches of a cell
    most: int
    half_width: float | None  # None: too few launches for an interval
    apart: int  # cells whose sessions differ: their width comes from these, not from launches
    more_seconds: float
    more_launches: int
    # By then, of the other cells that in the middle; None where now there is none to go by.
    then: float | None


def forecast(
    medians: Sequence[Sequence[float]],
    block_seconds: float,
    more_seconds: float = MORE_SECONDS,
    sessions: Sequence[Sequence[int]] | None = None,
    going: Sequence[bool] | None = None,
) -> Forecast | None:
    """What was reached, and what `more_seconds` would bring.

    `medians`: the launch medians (above 0) of each cell; `sessions`: the session of each, where
    there are several; `going`: whether it gets more launches, which one that is precise does not.
    `block_seconds`: of one launch more of every cell that does. An interval is taken to shrink with
    more launches as that of normal ones does. What more launches, which are of another session, do
    where sessions differ cannot be told: that cell counts in `apart`. None without any cell.
    """
    given = sessions or [[0] * len(values) for values in medians]
    further = going or [True] * len(medians)
    known = [cell for cell in zip(medians, given, further, strict=True) if cell[0]]
    if not known:
        return None
    more = int(more_seconds / block_seconds) if block_seconds > 0 else 0
    widths = [half_width(values, of) for values, of, _ in known]
    differ = [
        width is not None and apart(values, of, positive=True)
        for (values, of, _), width in zip(known, widths, strict=True)
    ]
    then = [
        _later(values, width, len(values) + more) if goes_on else width
        for (values, _, goes_on), width, differs in zip(known, widths, differ, strict=True)
        if not differs
    ]
    launches = [len(values) for values, *_ in known]
    return Forecast(
        cells=len(known),
        launches=int(np.median(launches)),
        fewest=min(launches),
        most=max(launches),
        half_width=_middle(widths),
        apart=sum(differ),
        more_seconds=more_seconds,
        more_launches=more,
        then=_middle(then) if then else None,
    )


def sentence(found: Forecast, command: str) -> str:
    """For people: a few sentences on one line, with the command that measures so much more."""
    figures, launches = count(found.cells, "figure"), count(found.most, "launch")
    if found.fewest < found.most:
        launches = f"{found.fewest} to {launches}"
    time = f"Another {format_seconds(found.more_seconds)} would"
    if found.half_width is None:
        words = f"Half of the {figures} or more have too few launches ({launches}) for an interval."
    else:
        words = (
            f"{figures} with {launches} each: the median figure has a 95 % interval of "
            f"± {percent(found.half_width)} %."
        )
    others = ""
    if found.apart:
        words += (
            f" {found.apart} of them {'differs' if found.apart == 1 else 'differ'} between sessions"
            " by more than launches explain, which more launches do not narrow."
        )
        others = " of the others"
    if found.more_launches == 0:
        return f"{words} {time} not be enough for one more launch of each."
    brought = f"{words} {time} add {count(found.more_launches, 'launch')} of each"
    if found.half_width is None:
        if expected_half_width(1.0, found.launches + found.more_launches) is None:
            return f"{brought}, still too few for an interval: {command}"
        return f"{brought}, enough for one; so few cannot predict its width: {command}"
    if found.then is None and not found.apart:
        return f"{brought}: {command}"
    if found.then is None:
        return f"{brought}, as another session, which shows how far sessions scatter: {command}"
    return (
        f"{brought} and narrow the median figure{others} to about ± {percent(found.then)} %, if"
        f" the session that adds them is like those before: {command}"
    )


def imprecise(precise: Sequence[bool]) -> str:
    """How many cells are not precise, for people; "" when all are."""
    few = precise.count(False)
    if not few:
        return ""
    return (
        f"{few} of {count(len(precise), 'figure')} {'is' if few == 1 else 'are'} less precise than"
        f" aimed at ({100 * GOAL_HIGHER:g} % for rates, {100 * GOAL_LOWER:g} % for times)"
    )


def promise(deviation: float, launches: int) -> str:
    """What precision so many launches buy where launch medians deviate so much (relative)."""
    width = expected_half_width(deviation, launches)
    if width is None:
        return f"{launches} launches of each case, too few for a 95 % interval"
    return (
        f"a 95 % interval of about ± {100 * width:.2g} % from {launches} launches of each case, "
        f"assuming that launches deviate by {100 * deviation:g} %"
    )


def _later(values: Sequence[float], width: float | None, launches: int) -> float | None:
    """The half width with so many launches. None where there is none now: the scatter of few
    launches says too little of that of more."""
    now, then = expected_half_width(1.0, len(values)), expected_half_width(1.0, launches)
    return width * then / now if width is not None and now and then else None


def _middle(values: Sequence[float | None]) -> float | None:
    """The median over cells; None where more than half have none."""
    known = [float("inf") if value is None else value for value in values]
    middle = float(np.median(known))
    return middle if np.isfinite(middle) else None
