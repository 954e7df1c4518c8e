# SPDX-License-Identifier: Apache-2.0
"""The timeline of one message: a lane for each rank, and one for the GPU's work for it.

Positions are in percent, so that lanes fill the window while letters keep their size.
"""

from html import escape

from markupsafe import Markup

from nearpeak.numbers import number
from nearpeak.observations.explained import Budget, Lane, Span, thinned

TICKS = 4  # an even number: a narrow window has every other one
WIDE = 780  # pixels of a lane in a wide window, in which close spans must be distinguishable
LEAST_FOR_TEXT = 60  # pixels
NARROWEST = 6  # pixels: narrower spans are drawn together with their neighbours
LETTER = 6.2  # pixels


def lanes(budget: Budget) -> Markup:
    """The drawing; each span has its name and time as a title."""
    label = f"What went on during one message of {number(budget.shown_us)} µs"
    return Markup(
        "".join(
            [
                f'<div class="lanes" role="img" aria-label="{label}">',
                *(_lane(lane, budget.shown_us) for lane in budget.lanes),
                _axis(budget.shown_us),
                "</div>",
            ]
        )
    )


def _lane(lane: Lane, whole_us: float) -> str:
    label = f"rank {lane.rank}" if lane.of == "rank" else f"GPU, rank {lane.rank}"
    spans = thinned(lane.spans, whole_us * NARROWEST / WIDE)
    drawn = "".join(_span(span, whole_us) for span in spans)
    return f'<div class="label">{label}</div><div class="lane">{drawn}</div>'


def _span(span: Span, whole_us: float) -> str:
    left, share = span.begin_us / whole_us, (span.end_us - span.begin_us) / whole_us
    several = f" and {span.count - 1} more" if span.count > 1 else ""
    name = escape(span.name)
    title = f"{name}{several}: {number(span.end_us - span.begin_us)} µs"
    fits = share * WIDE > max(LEAST_FOR_TEXT, LETTER * len(span.name))
    return (
        f'<span class="{span.kind}" style="left:{100 * left:.2f}%;width:{100 * share:.2f}%"'
        f' title="{title}">{name if fits else ""}</span>'
    )


def _axis(whole_us: float) -> str:
    ticks = "".join(
        f'<span class="tick" style="left:{100 * tick / TICKS:g}%">'
        f"{number(whole_us * tick / TICKS)} µs</span>"
        for tick in range(TICKS + 1)
    )
    return f'<div class="label"></div><div class="ticks">{ticks}</div>'
