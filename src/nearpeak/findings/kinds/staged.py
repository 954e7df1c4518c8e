# SPDX-License-Identifier: Apache-2.0
"""What a library does with a GPU's memory itself, against the copies any user would write."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import Kind, Seen, View, against, value, where
from nearpeak.results.names import bare, staged
from nearpeak.results.results import Cell
from nearpeak.terms.axes import STAGING, staging
from nearpeak.terms.identity import Curve, Place

LIMIT = 1.1  # times faster


def find(view: View) -> Iterator[Seen]:
    """Every cell beside each baseline of its case, whoever's it is."""
    baselines: dict[tuple[Place, Curve, int], list[Cell]] = defaultdict(list)
    for cell in view.cells:
        if staging(cell.case.axes) is not None:
            baselines[cell.place, bare(cell.case), cell.case.x].append(cell)
    for cell in view.unstaged:
        for baseline in baselines.get((cell.place, bare(cell.case), cell.case.x), []):
            loss = against(cell, baseline, LIMIT)
            if loss is None:
                continue
            sentence = (
                f"{where(cell)}, {view.case(cell)}: {value(loss.own, cell)} by the library's"
                f" own way against {value(loss.better, baseline)} with {baseline.who.label}"
                f" {staged(baseline.case.axes[STAGING])}, {loss.text}."
            )
            yield Seen(cell, loss, view.lost_us(cell, loss), sentence)


KIND = Kind(
    "staged",
    find,
    "Copy such messages through host memory in the application, or have the library do so.",
)
