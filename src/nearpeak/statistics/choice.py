# SPDX-License-Identifier: Apache-2.0
"""The best of several methods, chosen in blocks that do not estimate it.

Where the blocks that choose the best also say how good it is, luck counts twice: five equal methods
with a scatter of 10 % come out 5 % too good (benchmarks/ceiling_choice.py).
"""

from collections.abc import Hashable, Iterable, Mapping
from statistics import median
from typing import Any, Generic, Protocol, TypeVar


class Ordered(Hashable, Protocol):
    """A block that can be sorted."""

    def __lt__(self, other: Any, /) -> bool: ...


Block = TypeVar("Block", bound=Ordered)
Values = Mapping[str, Mapping[Block, float]]  # of each method, in the blocks that have it


class Choice(Generic[Block]):
    """The best method over all blocks, and the method that counts in each block.

    In a block the best method of the other half of the blocks counts. A half is every other block,
    so that both halves see a change half-way. Each method has a value in one block or more. A
    method with values in half of the blocks or fewer is the best only if no method has more.
    """

    def __init__(self, values: Values[Block], better: str) -> None:
        self._values = values
        self._sign = 1 if better == "lower" else -1
        every = set[Block]().union(*values.values())
        usual = {
            name for name, by_block in values.items() if 2 * len(by_block) > len(every)
        } or set(values)
        self.best = next(name for name in self._order(every) if name in usual)
        blocks = sorted({block for name in usual for block in values[name]})
        self._halves = set(blocks[::2]), set(blocks[1::2])
        # Only methods that both halves have: the winner of one half counts in the other.
        first, second = self._halves
        both = {
            name for name in usual if values[name].keys() & first and values[name].keys() & second
        }
        self._orders = tuple(map(self._order, self._halves))
        self.winners = tuple(
            next(filter(both.__contains__, order), self.best) for order in self._orders
        )
        # Two winners: the blocks do not decide which one is better.
        self.rivals = self.winners if len(set(self.winners)) > 1 else ()

    def winner(self, block: Block) -> str:
        """The method that counts in a block."""
        return self.winners[self._other(block)]

    def winner_there(self, block: Block) -> str:
        """The winner; if it has no value in this block, the next best method that has one."""
        names = self.winner(block), *self._orders[self._other(block)]
        return next((name for name in names if block in self._values[name]), names[0])

    def _other(self, block: Block) -> int:
        """The index of the half without this block."""
        return 1 if block in self._halves[0] else 0

    def _order(self, blocks: Iterable[Block]) -> list[str]:
        chosen = set(blocks)
        medians = {}
        for name, by_block in self._values.items():
            if shared := by_block.keys() & chosen:
                medians[name] = median(by_block[block] for block in shared)
        return sorted(medians, key=lambda name: self._sign * medians[name])
