# SPDX-License-Identifier: Apache-2.0
"""Operations slower than others of the same library that do the same and more."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import Rule, Seen, View, against
from nearpeak.findings.sources import GUIDELINES
from nearpeak.results.results import Cell
from nearpeak.terms.identity import Place, Who

LIMIT = 1.5  # times slower: what is less is not worth a change


def find(view: View) -> Iterator[Seen]:
    """Every cell beside each stronger operation."""
    there: dict[tuple[Who, Place, str, int, str], list[Cell]] = defaultdict(list)
    for cell in view.unstaged:
        there[_key(cell, cell.case.benchmark)].append(cell)
    for cell in view.unstaged:
        stronger = view.benchmarks[cell.case.benchmark].covered_by
        others = [known for name in stronger for known in there.get(_key(cell, name), ())]
        for other in others:
            if loss := against(cell, other, LIMIT):
                yield Seen(cell, other, loss)


def _key(cell: Cell, benchmark: str) -> tuple[Who, Place, str, int, str]:
    return cell.who, cell.place, cell.case.buffers, cell.case.x, benchmark


RULE = Rule(
    name="guidelines",
    tells=f"An operation takes more than {LIMIT:g} times as long as another of the same library"
    " that does the same and more (`bcast` and `allreduce`, `allgather` and `alltoall`, ...).",
    find=find,
    remedy="Choose another algorithm for this operation in the library's settings, or call the"
    " faster operation.",
    sources=[GUIDELINES],
)
