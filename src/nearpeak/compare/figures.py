# SPDX-License-Identifier: Apache-2.0
"""What one side of a comparison measured, by case and launch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nearpeak.compare.load import Study
from nearpeak.identity import CEILING, Case, Place, Who
from nearpeak.observations.model import Block
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.model import Cell
from nearpeak.statistics.comparisons import better_in
from nearpeak.study.benchmarks import Better

Key = tuple[Who, Place, Case]


class Launch(NamedTuple):
    """When something was measured."""

    session: int  # index into Compared.sessions
    block: int


class Kind(NamedTuple):
    """What two figures must have in common to be compared."""

    unit: str
    better: Better
    window: int | None  # messages in flight; of a ceiling: None


class Figures(NamedTuple):
    """One case on one side: its launch medians, all above 0."""

    kinds: set[Kind]
    values: dict[Launch, float]
    of_ceiling: dict[Launch, float]  # the same as fractions of the ceiling


def gather(studies: Sequence[Study], numbers: Mapping[tuple[int, int], int]) -> dict[Key, Figures]:
    """All that the studies of a side measured, ceilings too. A rate of empty messages is none.

    `numbers`: of each study (its index) and session of it, the number that `Launch` has.
    """
    found: dict[Key, Figures] = defaultdict(lambda: Figures(set(), {}, {}))
    for index, study in enumerate(studies):

        def launches(values: Mapping[Block, float], index: int = index) -> dict[Launch, float]:
            return {
                Launch(numbers[index, block.session], block.number): value
                for block, value in values.items()
                if value > 0
            }

        ceilings = Ceilings(study.results.ceilings)
        for cell in study.results.cells:
            if cell.median is None or (cell.case.x == 0 and cell.better == "higher"):
                continue
            figures = found[cell.who, cell.place, cell.case]
            figures.kinds.add(Kind(cell.unit, cell.better, cell.window))
            figures.values.update(launches(cell.by_block))
            figures.of_ceiling.update(launches(_fractions(cell, ceilings)))
        for point in study.results.ceilings:
            if not point.fact:
                figures = found[CEILING, point.place, point.case]
                figures.kinds.add(Kind(point.unit, point.better, None))
                figures.values.update(launches(point.by_block))
    return {key: figures for key, figures in found.items() if figures.values}


def _fractions(cell: Cell, ceilings: Ceilings) -> dict[Block, float]:
    """Of the ceiling, in each block that measured both; near to 1 is near to it."""
    point = ceilings.of(cell.place, cell.case) if cell.ceiling else None
    return {} if point is None else better_in(cell.by_block, point.by_block, cell.better)
