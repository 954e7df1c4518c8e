# SPDX-License-Identifier: Apache-2.0
"""The best of several methods, chosen in blocks that do not estimate it.

Where the blocks that choose the best also say how good it is, luck counts twice: five equal methods
with a scatter of 10 % come out 5 % too good (benchmarks/ceiling_choice.py).
"""

from collections.abc import Hashable, Iterable, Mapping
from statistics import median
from typing import Any, Generic, Protocol, TypeVar


class Ordered(Hashable, Protocol):
    """Blocks are taken in order."""

    def __lt__(self, other: Any, /) -> bool: ...


Block = TypeVar("Block", bound=Ordered)
Values = Mapping[str, Mapping[Block, float]]  # of each method, in the blocks that have it


class Choice(Generic[Block]):
    """Of methods with a value in one block or more: the best over all blocks, and the one that
    counts in a block, which is the best in the other half of them.

    A half is every other block, so that both see a change half-way. A method that half of the
    blocks or fewer have is never the best, where any has more.
    """

    def __init__(self, values: Values[Block], better: str) -> None:
        self._values = values
        self._sign = 1 if better == "lower" else -1
        every = set[Block]().union(*values.values())
        usual = {name for name, own in values.items() if 2 * len(own) > len(every)} or set(values)
        self.best = next(name for name in self._order(every) if name in usual)
        blocks = sorted({block for name in usual for block in values[name]})
        self._halves = set(blocks[::2]), set(blocks[1::2])
        # Of each half: what the other one lacks could not count there.
        both = {name for name in usual if all(values[name].keys() & half for half in self._halves)}
        self._orders = tuple(map(self._order, self._halves))
        self.winners = tuple(
            next((name for name in order if name in both), self.best) for order in self._orders
        )
        # Where two methods count, nobody knows which one is better.
        self.rivals = self.winners if len(set(self.winners)) > 1 else ()

    def winner(self, block: Block) -> str:
        """The method that counts in a block."""
        return self.winners[self._other(block)]

    def winner_there(self, block: Block) -> str:
        """The same; where that has no value there, the next best one of the other half that has."""
        names = self.winner(block), *self._orders[self._other(block)]
        return next((name for name in names if block in self._values[name]), names[0])

    def _other(self, block: Block) -> int:
        """The half that a block is not of."""
        return 1 if block in self._halves[0] else 0

    def _order(self, blocks: Iterable[Block]) -> list[str]:
        wanted = set(blocks)
        medians = {
            name: median(own[block] for block in own.keys() & wanted)
            for name, own in self._values.items()
            if own.keys() & wanted
        }
        return sorted(medians, key=lambda name: self._sign * medians[name])
