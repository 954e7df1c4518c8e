# SPDX-License-Identifier: Apache-2.0
"""Operations slower than others of the same library that do the same and more."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import GUIDELINES
from nearpeak.results.results import Cell


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with each stronger operation."""
    for cell in view.unstaged:
        stronger = view.benchmarks[cell.case.benchmark].covered_by
        others = [other for name in stronger for other in view.cells_like(cell, name)]
        for other in others:
            if _alike(cell, other) and (loss := against(cell, other, WORTH)):
                yield PossibleLoss(cell, other, loss)


def _alike(cell: Cell, other: Cell) -> bool:
    """True if the axes that both have are equal: calls, types, and the state of caches."""
    axes, others = cell.case.axes, other.case.axes
    return all(others.get(name, value) == value for name, value in axes.items())


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured} against {it.better} of"
        f" {it.other.case.figure}, which does the same and more, {it.ratio}."
    )


RULE = Rule(
    name="guidelines",
    tells=f"An operation takes more than {WORTH:g} times as long as another of the same library"
    " that does the same and more (`bcast` and `allreduce`, `allgather` and `alltoall`, ...), where"
    " the axes that both have are equal.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}, {it.better} by {it.other.case.figure} ({it.times})",
    sentence=sentence,
    action="Choose another algorithm for it, or call the faster operation.",
    remedy="Choose another algorithm for this operation in the library's settings, or call the"
    " faster operation.",
    sources=[GUIDELINES],
)
