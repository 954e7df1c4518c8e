# SPDX-License-Identifier: Apache-2.0
"""Which figures that are told first are two: their launches fall into two groups."""

from collections import defaultdict

import msgspec

from nearpeak.results import order
from nearpeak.results.results import Results, TwoModes
from nearpeak.terms.identity import Place


def find(results: Results) -> list[TwoModes]:
    """Of each path the one whose modes are farthest apart."""
    found: dict[Place, list[TwoModes]] = defaultdict(list)
    for cell in order.of_headlines(results):
        if cell.modes:
            found[cell.place].append(
                TwoModes(
                    who=cell.who, place=cell.place, case=cell.case, unit=cell.unit, modes=cell.modes
                )
            )
    widest = [max(found[place], key=_apart) for place in order.places(results) if place in found]
    return [
        msgspec.structs.replace(figure, others=len(found[figure.place]) - 1) for figure in widest
    ]


def _apart(figure: TwoModes) -> float:
    """The ratio of the medians, above 1."""
    low, high = sorted(mode.median for mode in figure.modes)
    return high / low
