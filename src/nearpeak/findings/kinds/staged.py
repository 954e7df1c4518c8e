# SPDX-License-Identifier: Apache-2.0
"""What a library does with a GPU's memory itself, against the copies any user would write."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import Kind, Seen, View, against
from nearpeak.results.names import bare
from nearpeak.results.results import Cell
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Case, Place

LIMIT = 1.1  # times faster


def find(view: View) -> Iterator[Seen]:
    """Every cell beside each baseline of its case, whoever's it is."""
    baselines: dict[tuple[Place, Case], list[Cell]] = defaultdict(list)
    for cell in view.cells:
        if staging(cell.case.axes) is not None:
            baselines[cell.place, bare(cell.case)].append(cell)
    for cell in view.unstaged:
        for baseline in baselines.get((cell.place, bare(cell.case)), []):
            if loss := against(cell, baseline, LIMIT):
                yield Seen(cell, baseline, loss)


KIND = Kind(
    "staged",
    find,
    "Copy such messages through host memory in the application, or have the library do so.",
)
