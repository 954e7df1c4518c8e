# SPDX-License-Identifier: Apache-2.0
"""The history of a change, session by session: bars on the terminal, a drawing on the page."""

import math
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from nearpeak.compare.compared import Change, Compared
from nearpeak.document.model import Value
from nearpeak.grouping import present
from nearpeak.numbers import number

STYLE = """
tr.whole > th[scope="row"] { font-weight: 600; }
tr:not(.whole) > th.name[scope="row"] { padding-left: 1.6rem; }
svg.history { display: block; min-width: 132px; }
td:not(.n):has(> small.wrap) { min-width: 6rem; }
td:has(svg.history) { vertical-align: middle; }
svg.history .mean { stroke: var(--muted); }
svg.history .limit { stroke: var(--muted); stroke-dasharray: 3 3; }
svg.history circle { stroke: var(--fg); stroke-width: 1.2; }
svg.history .old { fill: var(--bg); }
svg.history .new { fill: var(--fg); }
"""
_WIDTH, _HEIGHT, _EDGE = 132, 30, 4  # of the drawing, in px
_BARS = "▁▂▃▄▅▆▇█"
_NARROW = 0.02  # relative: the least span of both forms
Heights = Sequence[float | None]


def history(change: Change, compared: Compared) -> Value:
    """The sessions in their order, before and now: the higher the better."""
    split = compared.count("old")
    bars = list(_bars(change.history))
    text = "".join([*bars[:split], "|", *bars[split:]])
    return Value(text, "text", drawing=_draw(change.history, split, compared.tolerance))


def _bars(values: Heights) -> Iterator[str]:
    """Yields a bar for each session, a blank for one without a figure."""
    measured = present(values)
    low, high = min(measured), max(measured)
    span, middle = max(high - low, _NARROW), (high + low) / 2
    for value in values:
        yield " " if value is None else _BARS[min(7, int(8 * ((value - middle) / span + 0.5)))]


def _draw(values: Heights, split: int, tolerance: float) -> Markup:
    """Draws a dot for each session on a logarithmic scale, and lines at the mean of the old side
    and at the tolerance.

    Only numbers enter it, so that nothing needs escaping.
    """
    worst = -math.log1p(tolerance)
    down = _scale([0.0, worst, *(math.log(value) for value in values if value is not None)])
    lines = _line("mean", down(0.0)) + _line("limit", down(worst))
    ratios = ", ".join(map(number, values))
    return Markup(
        f'<svg class="history" role="img" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-label="Sessions relative to the mean of the old'
        f' side: {ratios}">{lines}{"".join(_dots(values, split, down))}</svg>'
    )


def _scale(levels: Sequence[float]) -> Callable[[float], str]:
    """The function that gives the y of a level in px."""
    low, high = min(levels), max(max(levels), min(levels) + _NARROW)
    return lambda level: f"{_EDGE + (_HEIGHT - 2 * _EDGE) * (high - level) / (high - low):.1f}"


def _line(kind: str, y: str) -> str:
    return f'<line class="{kind}" x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}"/>'


def _dots(values: Heights, split: int, down: Callable[[float], str]) -> Iterator[str]:
    step = (_WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    for index, value in enumerate(values):
        if value is not None:
            side = "old" if index < split else "new"
            x, y = f"{_EDGE + step * index:.1f}", down(math.log(value))
            yield f'<circle class="{side}" cx="{x}" cy="{y}" r="2.5"/>'
