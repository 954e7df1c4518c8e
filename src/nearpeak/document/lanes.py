# SPDX-License-Identifier: Apache-2.0
"""Draws lanes: names beside what is drawn of each, over one axis.

Positions are in percent, so that lanes fill the window while letters keep their size. Names are
never cut, as they often differ only at their ends.
"""

from collections.abc import Iterable

from markupsafe import Markup

_LANE = Markup('<div class="label">{}</div><div class="lane">{}</div>')
_TICK = Markup('<span class="tick" style="left:{:.2f}%;transform:translateX(-{}%)">{}</span>')
_AXIS = Markup('<div></div><div class="ticks">{}</div>')
_LANES = Markup('<div class="lanes {}" role="img" aria-label="{}">{}{}</div>')


def lanes(
    kind: str,
    label: str,
    rows: Iterable[tuple[str, Markup]],
    ticks: Iterable[tuple[float, str]] = (),
) -> Markup:
    """Returns the drawing.

    `kind`: its class, for the style sheet. `label`: the text for readers who do not see it.
    `rows`: names and contents. `ticks`: positions in percent and texts.
    """
    drawn = Markup("").join(_LANE.format(name, content) for name, content in rows)
    texts = Markup("").join(_TICK.format(x, _shift(x), text) for x, text in ticks)
    return _LANES.format(kind, label, drawn, _AXIS.format(texts) if texts else "")


def _shift(x: float) -> int:
    """Percent of its width by which the text of a tick is moved to the left: to its middle, unless
    it stands at an end."""
    return 0 if x <= 0 else 100 if x >= 100 else 50
