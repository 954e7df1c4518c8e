# SPDX-License-Identifier: Apache-2.0
"""The launch medians of each case of a library, and their precision while a study runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from nearpeak.statistics.intervals import all_precise, precise


class Median(NamedTuple):
    """The median of the samples of one launch."""

    block: int
    session: int
    value: float


class Cell:
    """One case of a library on a path: its launch medians."""

    def __init__(self, better: str) -> None:
        self.better = better
        self.medians: list[Median] = []

    @property
    def values(self) -> list[float]:
        """The medians themselves."""
        return [median.value for median in self.medians]

    @property
    def sessions(self) -> list[int]:
        """The session of each median."""
        return [median.session for median in self.medians]

    def before(self, block: int) -> dict[int, Median]:
        """The medians of earlier blocks, by block."""
        return {median.block: median for median in self.medians if median.block < block}

    def precise(self) -> bool:
        """True if its launches are enough."""
        return precise(self.values, self.better, self.sessions)


def precise_together(cells: Sequence[Cell], look: int) -> bool:
    """True if all alternatives are precise in the blocks that they have in common before a look."""
    by_block = [cell.before(look) for cell in cells]
    blocks = sorted(set.intersection(*map(set, by_block)))
    sessions = [by_block[0][block].session for block in blocks]
    values = [_values(medians, blocks) for medians in by_block]
    return all_precise(values, cells[0].better, sessions)


def _values(medians: Mapping[int, Median], blocks: Iterable[int]) -> list[float]:
    return [medians[block].value for block in blocks]
