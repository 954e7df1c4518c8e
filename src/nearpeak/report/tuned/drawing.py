# SPDX-License-Identifier: Apache-2.0
"""Draws the effect of settings: each case before and after as a fraction of its ceiling, and the
speedup by each value.

Positions are in percent of the window, so letters keep their size. Names are never cut, as they
often differ only at their ends.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape

from markupsafe import Markup

from nearpeak.libraries.profiles import Evidence
from nearpeak.numbers import number, percent
from nearpeak.report.tuned.words import of_ceiling
from nearpeak.tune.tuned import Tried

EDGE = 5.0  # percent, left free at both ends
DOT = 5  # pixels
TICKS = 7  # at most, of a decade or a factor of two each


class _Scale:
    """A logarithmic scale from left to right."""

    def __init__(self, values: Sequence[float], base: float) -> None:
        logs = [math.log(value, base) for value in values]
        self.low, self.high = math.floor(min(logs)), math.ceil(max(logs))
        self.high = max(self.high, self.low + 1)
        step = math.ceil((self.high - self.low) / TICKS)
        self.ticks = [base**power for power in range(self.low, self.high + 1, step)]
        self._base = base

    def x(self, value: float) -> float:
        """The position of a value, in percent."""
        share = (math.log(value, self._base) - self.low) / (self.high - self.low)
        return EDGE + share * (100 - 2 * EDGE)


def before_after(rows: Sequence[Evidence]) -> Markup:
    """Draws the fractions of the ceiling, default and tuned, in a row for each case with a ceiling;
    empty without any."""
    judged = [row for row in rows if row.ceiling]
    if not judged:
        return Markup("")
    shares = [of_ceiling(value, row) for row in judged for value in (row.before, row.after)]
    scale = _Scale([*shares, 1.0], 10.0)
    parts = []
    for row in judged:
        before, after = (of_ceiling(value, row) for value in (row.before, row.after))
        label = f"{percent(before)} % of the ceiling as it is, {percent(after)} % tuned"
        drawn = (
            f"<g><title>{escape(row.case)}: {label}</title>"
            f'<line class="way" x1="{scale.x(before):.2f}%" x2="{scale.x(after):.2f}%"'
            f' y1="50%" y2="50%"/>{_dot("before", scale.x(before))}'
            f"{_dot('after', scale.x(after))}</g>"
        )
        parts.append((row.case, drawn))
    ticks = [(tick, f"{percent(tick)} %") for tick in scale.ticks]
    return _drawn(parts, scale, ticks, "Fractions of the ceiling, as it is and tuned")


def each_value(rows: Sequence[Tried], targets: Sequence[str]) -> Markup:
    """Draws the speedup of each target by each value; empty without any."""
    measured = [row for row in rows if row.times]
    if not measured:
        return Markup("")
    scale = _Scale([*(times for row in measured for times in row.times), 1.0], 2.0)
    parts = [(row.setting, "".join(_dots(row, targets, scale))) for row in measured]
    ticks = [(tick, number(tick)) for tick in scale.ticks]
    return _drawn(parts, scale, ticks, "How many times as fast each value makes each target")


def _dots(row: Tried, targets: Sequence[str], scale: _Scale) -> Iterator[str]:
    for which, (target, times) in enumerate(zip(targets, row.times, strict=True)):
        label = f"{row.setting}: {target} {number(times)} times as fast"
        dot = _dot(f"target t{which % 6}", scale.x(times))
        yield f"<g><title>{escape(label)}</title>{dot}</g>"


def _dot(kind: str, x: float) -> str:
    return f'<circle class="{kind}" cx="{x:.2f}%" cy="50%" r="{DOT}"/>'


def _drawn(
    rows: Sequence[tuple[str, str]],
    scale: _Scale,
    ticks: Sequence[tuple[float, str]],
    label: str,
) -> Markup:
    """`rows`: names with their drawings. The line at 1, the ceiling or no change, stands out."""
    lines = "".join(
        f'<line class="{"one" if value == 1.0 else "grid"}" x1="{scale.x(value):.2f}%"'
        f' x2="{scale.x(value):.2f}%" y1="0" y2="100%"/>'
        for value in dict.fromkeys([*scale.ticks, 1.0])
    )
    tick_labels = "".join(
        f'<span class="tick" style="left:{scale.x(value):.2f}%">{text}</span>'
        for value, text in ticks
    )
    drawn = "".join(
        f'<div class="label">{escape(name)}</div><div class="marks"><svg>{lines}{marks}</svg></div>'
        for name, marks in rows
    )
    return Markup(
        f'<div class="lanes settings" role="img" aria-label="{label}">{drawn}'
        f'<div class="label"></div><div class="ticks">{tick_labels}</div></div>'
    )
