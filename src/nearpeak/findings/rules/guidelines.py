# SPDX-License-Identifier: Apache-2.0
"""Operations slower than others of the same library that do the same and more."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, Rule, Seen, View, against
from nearpeak.findings.sources import GUIDELINES
from nearpeak.results.results import Cell


def find(view: View) -> Iterator[Seen]:
    """Every cell beside each stronger operation."""
    for cell in view.unstaged:
        stronger = view.benchmarks[cell.case.benchmark].covered_by
        others = [known for name in stronger for known in view.beside(cell, name)]
        for other in others:
            if _alike(cell, other) and (loss := against(cell, other, WORTH)):
                yield Seen(cell, other, loss)


def _alike(cell: Cell, other: Cell) -> bool:
    """Whether the axes that both have are equal: calls, types, and what is in the caches."""
    own, others = cell.case.axes, other.case.axes
    return all(others.get(name, value) == value for name, value in own.items())


RULE = Rule(
    name="guidelines",
    tells=f"An operation takes more than {WORTH:g} times as long as another of the same library"
    " that does the same and more (`bcast` and `allreduce`, `allgather` and `alltoall`, ...), where"
    " the axes that both have are equal.",
    find=find,
    remedy="Choose another algorithm for this operation in the library's settings, or call the"
    " faster operation.",
    sources=[GUIDELINES],
)
