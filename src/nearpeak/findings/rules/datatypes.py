# SPDX-License-Identifier: Apache-2.0
"""Derived datatypes, compared with the same blocks packed by a kernel or by MPI_Pack."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import BLOCK_BY_BLOCK
from nearpeak.terms.axes import BY_LIBRARY, PACK


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares cells with the datatype with cells with packed blocks."""
    for cell, other in view.pairs(PACK):
        if cell.case.axes[PACK] == BY_LIBRARY and (loss := against(cell, other, WORTH)):
            yield PossibleLoss(cell, other, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured} with the datatype against {it.better} with"
        " its blocks gathered before"
        f" ({PACK}={it.other.case.axes[PACK]}), {it.ratio}."
    )


RULE = Rule(
    name="datatypes",
    tells=f"Messages of a datatype take more than {WORTH:g} times as long if the library gets the"
    " datatype (`pack=direct`) than if a kernel, a loop or MPI_Pack gathers and scatters its"
    " blocks.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured} with the datatype, {it.better} gathered first ({it.times})",
    sentence=sentence,
    remedy="Gather the blocks by a kernel of the application, and send them as one.",
    sources=BLOCK_BY_BLOCK,
)
