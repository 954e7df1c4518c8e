# SPDX-License-Identifier: Apache-2.0
"""Which figures that are told first are two: their launches fall into two groups."""

from nearpeak.results import order
from nearpeak.results.names import bare
from nearpeak.results.results import Cell, Results, TwoModes


def find(results: Results) -> list[TwoModes]:
    """Of each path the one whose modes are farthest apart."""
    told = {
        (one.place, bare(one.case).at(one.case.x))
        for group in order.headlines(results)
        for one in group
    }
    found: dict[int, TwoModes] = {}
    places = order.places(results)
    for cell in results.cells:
        if not cell.modes or (cell.place, bare(cell.case).at(cell.case.x)) not in told:
            continue
        number = places.index(cell.place)
        one = TwoModes(
            who=cell.who, place=cell.place, case=cell.case, unit=cell.unit, modes=cell.modes
        )
        before = found.get(number)
        if before is None:
            found[number] = one
            continue
        widest = max(before, one, key=_apart)
        widest.others = before.others + 1
        found[number] = widest
    return [found[number] for number in sorted(found)]


def _apart(one: TwoModes | Cell) -> float:
    """The ratio of the medians, above 1."""
    low, high = sorted(mode.median for mode in one.modes)
    return high / low
