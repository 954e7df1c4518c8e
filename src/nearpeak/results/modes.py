# SPDX-License-Identifier: Apache-2.0
"""The bimodal figures among those reported first: their launches fall into two groups."""

import msgspec

from nearpeak.grouping import grouped, present
from nearpeak.results import order
from nearpeak.results.results import Results, TwoModes


def find(results: Results) -> list[TwoModes]:
    """The figure of each path whose modes are farthest apart."""
    figures = [
        TwoModes(who=cell.who, place=cell.place, case=cell.case, unit=cell.unit, modes=cell.modes)
        for cell in order.of_headlines(results)
        if cell.modes
    ]
    by_place = grouped(figures, lambda figure: figure.place)
    groups = present(by_place.get(place) for place in order.places(results))
    return [
        msgspec.structs.replace(max(group, key=_apart), others=len(group) - 1) for group in groups
    ]


def _apart(figure: TwoModes) -> float:
    """The ratio of the medians, above 1."""
    low, high = sorted(mode.median for mode in figure.modes)
    return high / low
