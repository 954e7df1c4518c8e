# SPDX-License-Identifier: Apache-2.0
"""Lanes over the time of one message, as SVG: what each rank did, and what the GPU did for it."""

from html import escape

from markupsafe import Markup

from nearpeak.numbers import number
from nearpeak.observations.explained import Budget, Lane, Span, thinned

WIDTH, LABEL, HEIGHT, GAP, AXIS = 900, 120, 26, 8, 22
TICKS = 5
LEAST_FOR_TEXT = 60  # pixels
NARROWEST = 6  # what is narrower is drawn together with its neighbour
LETTER = 6.2  # pixels


def lanes(budget: Budget) -> Markup:
    """The drawing; each span has its name and time as a title."""
    height = len(budget.lanes) * (HEIGHT + GAP) + AXIS
    parts = [
        f'<svg class="lanes" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="What went on during one message of {number(budget.shown_us)} µs">'
    ]
    for row, lane in enumerate(budget.lanes):
        parts += _lane(lane, row * (HEIGHT + GAP), budget.shown_us)
    parts += _axis(height - AXIS, budget.shown_us)
    return Markup("".join([*parts, "</svg>"]))


def _lane(lane: Lane, top: float, whole_us: float) -> list[str]:
    label = f"rank {lane.rank}" if lane.of == "rank" else f"GPU, rank {lane.rank}"
    parts = [
        f'<text x="0" y="{top + 17}">{label}</text>',
        f'<rect class="idle" x="{LABEL}" y="{top}" width="{WIDTH - LABEL}" height="{HEIGHT}"/>',
    ]
    spans = thinned(lane.spans, whole_us * NARROWEST / (WIDTH - LABEL))
    return [*parts, *(_span(span, top, whole_us) for span in spans)]


def _span(span: Span, top: float, whole_us: float) -> str:
    scale = (WIDTH - LABEL) / whole_us
    left, width = LABEL + span.begin_us * scale, max(0.5, (span.end_us - span.begin_us) * scale)
    several = f" and {span.count - 1} more" if span.count > 1 else ""
    name = escape(span.name)
    title = f"{name}{several}: {number(span.end_us - span.begin_us)} µs"
    parts = [
        f'<g><title>{title}</title><rect class="{span.kind}" x="{left:.1f}" y="{top}"'
        f' width="{width:.1f}" height="{HEIGHT}"/>'
    ]
    if width > max(LEAST_FOR_TEXT, LETTER * len(span.name)):
        parts.append(f'<text class="inside" x="{left + 4:.1f}" y="{top + 17}">{name}</text>')
    return "".join([*parts, "</g>"])


def _axis(top: float, whole_us: float) -> list[str]:
    step = (WIDTH - LABEL) / TICKS
    return [
        f'<text class="tick" x="{LABEL + step * tick:.0f}" y="{top + 14}"'
        f' text-anchor="{"end" if tick == TICKS else "middle" if tick else "start"}">'
        f"{number(whole_us * tick / TICKS)} µs</text>"
        for tick in range(TICKS + 1)
    ]
