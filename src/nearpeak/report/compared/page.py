# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: one file that loads nothing and runs no script."""

import math
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from nearpeak import numbers
from nearpeak.compare.compared import Change, Compared
from nearpeak.document import templates
from nearpeak.report.compared import words
from nearpeak.results import names

_HERE = Path(__file__).parent
_WIDTH, _HEIGHT, _EDGE = 132, 30, 4  # of the drawing of a history, in px
_NARROW = 0.02  # in the logarithm: the least span that a drawing shows


def render(compared: Compared) -> str:
    """Returns the whole page."""
    environment = templates.environment(_HERE)

    def drawn(change: Change) -> Markup:
        return draw(change.history, compared)

    environment.globals |= {
        "interval": numbers.interval,
        "curve_detail": names.detail,
        "verdict": words.verdict,
        "sizes": words.sizes,
    }
    return environment.get_template("compare.html.j2").render(
        compared=compared,
        drawn=drawn,
        places=words.by_place(compared),
        differences=words.differences(compared),
        no_difference=words.NO_DIFFERENCE,
        reasons=words.reasons(compared),
        host=words.host(compared),
        sessions=words.sessions(compared),
        tolerance=words.tolerance(compared),
        conclusion=words.conclusion(compared),
        failures=words.failures(compared.failures),
        missing=words.missing(compared),
        unmatched=words.unmatched(compared),
        fractions=words.fractions(compared),
        about_fractions=words.FRACTIONS,
        distances=words.distances(compared),
        about_distances=words.DISTANCES,
        css=templates.css(),
    )


def draw(history: Sequence[float | None], compared: Compared) -> Markup:
    """Draws the sessions in order as dots in SVG: higher is better, on a logarithmic scale.

    A line marks the mean of the old side, a dashed one the tolerance. Only numbers enter it, so
    that nothing needs escaping.
    """
    worst = -math.log1p(compared.tolerance)
    heights = [None if value is None else math.log(value) for value in history]
    levels = [0.0, worst, *(height for height in heights if height is not None)]
    low, high = min(levels), max(max(levels), min(levels) + _NARROW)

    def down(height: float) -> str:
        return f"{_EDGE + (_HEIGHT - 2 * _EDGE) * (high - height) / (high - low):.1f}"

    step = (_WIDTH - 2 * _EDGE) / max(1, len(history) - 1)
    split = compared.count("old")
    parts = [
        f'<line class="mean" x1="0" x2="{_WIDTH}" y1="{down(0)}" y2="{down(0)}"/>',
        f'<line class="limit" x1="0" x2="{_WIDTH}" y1="{down(worst)}" y2="{down(worst)}"/>',
    ]
    for number, height in enumerate(heights):
        if height is None:
            continue
        kind = "old" if number < split else "new"
        across = f"{_EDGE + step * number:.1f}"
        parts.append(f'<circle class="{kind}" cx="{across}" cy="{down(height)}" r="2.5"/>')
    ratios = ", ".join(numbers.number(value) for value in history)
    return Markup(
        f'<svg class="history" role="img" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-label="Each session to the mean of the old side:'
        f' {ratios}">{"".join(parts)}</svg>'
    )
