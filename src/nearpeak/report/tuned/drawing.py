# SPDX-License-Identifier: Apache-2.0
"""What settings do, as SVG: each case before and after on the way to its ceiling, and what
each value did."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from markupsafe import Markup

from nearpeak.libraries.profiles import Evidence
from nearpeak.numbers import number, percent
from nearpeak.report.tuned.words import of_ceiling
from nearpeak.tune.tuned import Tried

WIDTH, LABEL, ROW, AXIS, EDGE, DOT = 900, 340, 24, 26, 30, 5
LETTERS = 48  # of a label
TICKS = 7  # at most, of a decade or a factor of two each


class _Scale:
    """A logarithmic one from left to right."""

    def __init__(self, values: Sequence[float], base: float) -> None:
        logs = [math.log(value, base) for value in values]
        self.low, self.high = math.floor(min(logs)), math.ceil(max(logs))
        self.high = max(self.high, self.low + 1)
        step = math.ceil((self.high - self.low) / TICKS)
        self.ticks = [base**power for power in range(self.low, self.high + 1, step)]
        self._base = base

    def x(self, value: float) -> float:
        share = (math.log(value, self._base) - self.low) / (self.high - self.low)
        return LABEL + EDGE + share * (WIDTH - LABEL - 2 * EDGE)


def before_after(rows: Sequence[Evidence]) -> Markup:
    """Fractions of the ceiling as it is and tuned, a row for each case that has one; empty without
    any."""
    known = [row for row in rows if row.ceiling]
    if not known:
        return Markup("")
    shares = [of_ceiling(value, row) for row in known for value in (row.before, row.after)]
    scale = _Scale([*shares, 1.0], 10.0)
    parts = []
    for at, row in enumerate(known):
        y = ROW * at + ROW / 2
        before, after = (of_ceiling(value, row) for value in (row.before, row.after))
        words = f"{percent(before)} % of the ceiling as it is, {percent(after)} % tuned"
        parts.append(_label(row.case, y))
        parts.append(
            f"<g><title>{escape(row.case)}: {words}</title>"
            f'<line class="way" x1="{scale.x(before):.1f}" x2="{scale.x(after):.1f}"'
            f' y1="{y}" y2="{y}"/>'
            f'<circle class="before" cx="{scale.x(before):.1f}" cy="{y}" r="{DOT}"/>'
            f'<circle class="after" cx="{scale.x(after):.1f}" cy="{y}" r="{DOT}"/></g>'
        )
    ticks = [(tick, f"{percent(tick)} %") for tick in scale.ticks]
    words = "Fractions of the ceiling, as it is and tuned"
    return _drawn(parts, scale, ticks, 1.0, len(known), words)


def each_value(rows: Sequence[Tried], targets: Sequence[str]) -> Markup:
    """How many times as fast each value makes each target; empty without any."""
    known = [row for row in rows if row.times]
    if not known:
        return Markup("")
    scale = _Scale([*(times for row in known for times in row.times), 1.0], 2.0)
    parts = []
    for at, row in enumerate(known):
        y = ROW * at + ROW / 2
        parts.append(_label(row.setting, y))
        parts += _dots(row, targets, scale, y)
    ticks = [(tick, number(tick)) for tick in scale.ticks]
    words = "How many times as fast each value makes each target"
    return _drawn(parts, scale, ticks, 1.0, len(known), words)


def _dots(row: Tried, targets: Sequence[str], scale: _Scale, y: float) -> Iterator[str]:
    for which, (target, times) in enumerate(zip(targets, row.times, strict=True)):
        words = f"{row.setting}: {target} {number(times)} times as fast"
        circle = (
            f'<circle class="target t{which % 6}" cx="{scale.x(times):.1f}" cy="{y}" r="{DOT}"/>'
        )
        yield f"<g><title>{escape(words)}</title>{circle}</g>"


def _label(text: str, y: float) -> str:
    short = text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
    title = f"<title>{escape(text)}</title>" if short != text else ""
    return f'<text x="0" y="{y + 4}">{title}{escape(short)}</text>'


def _drawn(
    parts: Sequence[str],
    scale: _Scale,
    ticks: Sequence[tuple[float, str]],
    at: float,
    rows: int,
    words: str,
) -> Markup:
    """`at`: where a line stands out, the ceiling or what changes nothing."""
    bottom = rows * ROW
    axis = [
        f'<line class="{"one" if value == at else "grid"}" x1="{scale.x(value):.1f}"'
        f' x2="{scale.x(value):.1f}" y1="0" y2="{bottom}"/>'
        f'<text class="tick" x="{scale.x(value):.1f}" y="{bottom + 16}"'
        f' text-anchor="middle">{text}</text>'
        for value, text in ticks
    ]
    if not any(value == at for value, _ in ticks):
        x = f"{scale.x(at):.1f}"
        axis.append(f'<line class="one" x1="{x}" x2="{x}" y1="0" y2="{bottom}"/>')
    head = f'<svg class="lanes settings" viewBox="0 0 {WIDTH} {bottom + AXIS}" role="img"'
    return Markup("".join([f'{head} aria-label="{words}">', *axis, *parts, "</svg>"]))
