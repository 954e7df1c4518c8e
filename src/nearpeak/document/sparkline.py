# SPDX-License-Identifier: Apache-2.0
"""A figure session by session: bars on the terminal, a drawing on the page."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from markupsafe import Markup

from nearpeak.document.model import Value
from nearpeak.grouping import present
from nearpeak.numbers import number

STYLE = """
svg.history { display: block; min-width: 132px; }
td:has(svg.history) { vertical-align: middle; }
svg.history .mean { stroke: var(--muted); }
svg.history .limit { stroke: var(--muted); stroke-dasharray: 3 3; }
svg.history circle { stroke: var(--fg); stroke-width: 1.2; }
svg.history .old { fill: var(--bg); }
svg.history .new { fill: var(--fg); }
"""
_WIDTH, _HEIGHT, _EDGE = 132, 30, 4  # of the drawing, in px
_MOST_BARS = 24  # on the terminal: the newest sessions
_CROWDED = 30  # sessions, from which dots are small
_BARS = "▁▂▃▄▅▆▇█"
_NARROW = 0.02  # relative: the least span of both forms
Heights = Sequence[float | None]  # relative to a level, above 1: better; None: not measured


def sparkline(values: Heights, changes: Collection[int], tolerance: float, level: str) -> Value:
    """The sessions in their order: the higher the better.

    `changes`: the sessions that are the first of another side or level; dots from the last one on
    are full. `level`: the words for that to which values are relative.
    """
    return Value(_text(values, changes), "text", drawing=_draw(values, changes, tolerance, level))


def _text(values: Heights, changes: Collection[int]) -> str:
    """The bars of the newest sessions, with a line before each change."""
    start = max(len(values) - _MOST_BARS, 0)
    bars = list(_bars(values[start:]))
    return "".join(
        f"|{bar}" if index in changes and index > start else bar
        for index, bar in enumerate(bars, start)
    ) + ("|" if len(values) in changes else "")


def _bars(values: Heights) -> Iterator[str]:
    """Yields a bar for each session, a blank for one without a figure."""
    measured = present(values) or [1.0]
    low, high = min(measured), max(measured)
    span, middle = max(high - low, _NARROW), (high + low) / 2
    for value in values:
        yield " " if value is None else _BARS[min(7, int(8 * ((value - middle) / span + 0.5)))]


def _draw(values: Heights, changes: Collection[int], tolerance: float, level: str) -> Markup:
    """Draws a dot for each session on a logarithmic scale, and lines at the level and at the
    tolerance.

    Only numbers and words of the program enter it, so that nothing needs escaping.
    """
    worst = -math.log1p(tolerance)
    down = _scale([0.0, worst, *map(math.log, present(values))])
    lines = _line("mean", down(0.0)) + _line("limit", down(worst))
    ratios = ", ".join(map(number, values))
    dots = "".join(_dots(values, max(changes, default=len(values)), down))
    return Markup(
        f'<svg class="history" role="img" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-label="Sessions relative to {level}:'
        f' {ratios}">{lines}{dots}</svg>'
    )


def _scale(levels: Sequence[float]) -> Callable[[float], str]:
    """The function that gives the y of a level in px."""
    low, high = min(levels), max(max(levels), min(levels) + _NARROW)
    return lambda level: f"{_EDGE + (_HEIGHT - 2 * _EDGE) * (high - level) / (high - low):.1f}"


def _line(kind: str, y: str) -> str:
    return f'<line class="{kind}" x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}"/>'


def _dots(values: Heights, new_from: int, down: Callable[[float], str]) -> Iterator[str]:
    step = (_WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    radius = 1.2 if len(values) > _CROWDED else 2.5
    for index, value in enumerate(values):
        if value is not None:
            side = "old" if index < new_from else "new"
            x, y = f"{_EDGE + step * index:.1f}", down(math.log(value))
            yield f'<circle class="{side}" cx="{x}" cy="{y}" r="{radius}"/>'
