# SPDX-License-Identifier: Apache-2.0
"""Derived datatypes far slower than contiguous messages, if the study has no other way to pack."""

from collections.abc import Iterator

from nearpeak.findings.evidence import PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import BLOCK_BY_BLOCK
from nearpeak.terms.axes import BY_LIBRARY, PACK, state_of

LIMIT = 3.0  # times longer


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares cells with a datatype with the messages that bound them.

    Not if the study packed the same blocks by other means (rule `datatypes`).
    """
    packed = {id(cell) for cell, _ in view.pairs(PACK)}
    for cell in view.unstaged:
        messages = view.benchmarks[cell.case.benchmark].bound_by
        if messages is None or cell.case.axes.get(PACK) != BY_LIBRARY or id(cell) in packed:
            continue
        for other in view.cells_like(cell, messages):
            if state_of(other.case.axes) != state_of(cell.case.axes) or other.unit != cell.unit:
                continue
            if loss := against(cell, other, LIMIT):
                yield PossibleLoss(cell, other, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured}; messages of as many bytes that lie together"
        f" ({it.other.case.figure}) take {it.better}. What of the difference is lost,"
        " and what anybody needs to gather and scatter the blocks, was not measured."
    )


RULE = Rule(
    name="noncontiguous",
    tells=f"Messages of a datatype (`pack=direct`) take more than {LIMIT:g} times as long as"
    " messages of as many bytes that lie together. That is no loss: whoever sends such blocks must"
    " gather and scatter them, and how long that takes was not measured. Only where the study"
    " packed the blocks by no other means: then it is `datatypes` that tells.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}; without gaps {it.better}",
    sentence=sentence,
    action="Measure `--pack kernel`; if it is faster, gather the blocks in the application.",
    remedy="Measure it with `--pack kernel` (`nearpeak run`), which gathers the blocks by itself,"
    " in host memory by the CPU; if that is faster, gather them in the application and send them"
    " as one.",
    sources=BLOCK_BY_BLOCK,
    does_less=True,
)
