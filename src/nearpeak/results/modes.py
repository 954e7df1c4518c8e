# SPDX-License-Identifier: Apache-2.0
"""The bimodal figures among those reported first: their launches fall into two groups."""

from collections import defaultdict

import msgspec

from nearpeak.results import order
from nearpeak.results.results import Results, TwoModes
from nearpeak.terms.identity import Place


def find(results: Results) -> list[TwoModes]:
    """The figure of each path whose modes are farthest apart."""
    figures: dict[Place, list[TwoModes]] = defaultdict(list)
    for cell in order.of_headlines(results):
        if cell.modes:
            figures[cell.place].append(
                TwoModes(
                    who=cell.who, place=cell.place, case=cell.case, unit=cell.unit, modes=cell.modes
                )
            )
    widest = [
        max(figures[place], key=_apart) for place in order.places(results) if place in figures
    ]
    return [
        msgspec.structs.replace(figure, others=len(figures[figure.place]) - 1) for figure in widest
    ]


def _apart(figure: TwoModes) -> float:
    """The ratio of the medians, above 1."""
    low, high = sorted(mode.median for mode in figure.modes)
    return high / low
