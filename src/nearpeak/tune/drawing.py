# SPDX-License-Identifier: Apache-2.0
"""Draws the effect of settings: each case before and after as a fraction of its ceiling, and the
speedup by each value."""

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from nearpeak.document.lanes import lanes
from nearpeak.libraries.profiles import Evidence
from nearpeak.numbers import number, percent
from nearpeak.tune.tuned import Tried

EDGE = 5.0  # percent, left free at both ends
TICKS = 7  # at most, of a decade or a factor of two each
COLOURS = 6  # of the style sheet
STYLE = """
.lanes.settings { row-gap: 0; }
.settings .label { padding: .2rem 0; }
.settings .lane { min-height: 1.6rem; }
.settings svg { position: absolute; width: 100%; height: 100%; overflow: visible; }
.settings line.grid { stroke: var(--grid); }
.settings line.one { stroke: var(--fg); }
.settings line.way { stroke: var(--muted); stroke-width: 2; }
.settings .before { fill: var(--bg); stroke: var(--muted); stroke-width: 2; }
i.before { border: 2px solid var(--muted); }
.settings .after, i.after { fill: var(--c0); background: var(--c0); }
.settings .target { fill-opacity: .8; }
figcaption i { border-radius: 50%; }
""" + "".join(
    f".settings .t{n}, i.t{n} {{ fill: var(--c{n}); background: var(--c{n}); }}\n"
    for n in range(COLOURS)
)
_DOT = Markup('<circle class="{}" cx="{:.2f}%" cy="50%" r="5"/>')
_TITLED = Markup("<g><title>{}</title>{}</g>")
_WAY = Markup('<line class="way" x1="{:.2f}%" x2="{:.2f}%" y1="50%" y2="50%"/>{}{}')
_GRID = Markup('<line class="{}" x1="{:.2f}%" x2="{:.2f}%" y1="0" y2="100%"/>')
_MARKS = Markup("<svg>{}{}</svg>")


class _Scale:
    """A logarithmic scale from left to right, with 1 on it."""

    def __init__(self, values: Sequence[float], base: float) -> None:
        logs = [math.log(value, base) for value in (*values, 1.0)]
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
    values = [value for row in judged for value in _of_ceiling(row)]
    scale = _Scale(values, 10.0)
    drawn = [(row.case, _change(row, scale)) for row in judged]
    ticks = [f"{percent(tick)} %" for tick in scale.ticks]
    return _drawn(drawn, scale, ticks, "Fractions of the ceiling, as it is and tuned")


def _of_ceiling(row: Evidence) -> tuple[float, float]:
    """The fractions of the ceiling, as it is and tuned."""
    ceiling = row.ceiling or 1.0
    if row.unit == "us":
        return ceiling / row.before, ceiling / row.after
    return row.before / ceiling, row.after / ceiling


def _change(row: Evidence, scale: _Scale) -> Markup:
    before, after = _of_ceiling(row)
    title = f"{row.case}: {percent(before)} % of the ceiling as it is, {percent(after)} % tuned"
    first, last = scale.x(before), scale.x(after)
    dots = _DOT.format("before", first), _DOT.format("after", last)
    return _TITLED.format(title, _WAY.format(first, last, *dots))


def each_value(rows: Sequence[Tried], targets: Sequence[str]) -> Markup:
    """Draws the speedup of each target by each value; empty without any."""
    scale = _Scale([times for row in rows for times in row.times], 2.0)
    drawn = [
        (row.setting, Markup("").join(_dots(row, targets, scale))) for row in rows if row.times
    ]
    ticks = list(map(number, scale.ticks))
    return _drawn(drawn, scale, ticks, "How many times as fast each value makes each target")


def _dots(row: Tried, targets: Sequence[str], scale: _Scale) -> Iterator[Markup]:
    for which, (target, times) in enumerate(zip(targets, row.times, strict=True)):
        title = f"{row.setting}: {target} {number(times)} times as fast"
        yield _TITLED.format(title, _DOT.format(f"target t{which % COLOURS}", scale.x(times)))


def _drawn(
    rows: Sequence[tuple[str, Markup]], scale: _Scale, ticks: Sequence[str], label: str
) -> Markup:
    """`rows`: names with their marks. The line at 1, the ceiling or no change, stands out."""
    if not rows:
        return Markup("")
    grid = Markup("").join(
        _GRID.format("one" if value == 1.0 else "grid", scale.x(value), scale.x(value))
        for value in dict.fromkeys([*scale.ticks, 1.0])
    )
    drawn = [(name, _MARKS.format(grid, marks)) for name, marks in rows]
    places = map(scale.x, scale.ticks)
    return lanes("settings", label, drawn, zip(places, ticks, strict=True))
