# SPDX-License-Identifier: Apache-2.0
"""A size that takes longer than the next larger one: a protocol begins too late or ends too
early."""

from collections.abc import Iterator
from itertools import pairwise

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, above
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import EAGER, RENDEZVOUS
from nearpeak.findings.sources import GUIDELINES, SHARED_MEMORY, THRESHOLDS


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every time with that of the next larger size of its curve."""
    for curve in view.curves:
        for cell, other in pairwise(curve):
            if cell.unit != "us" or not cell.case.x:
                continue
            if possible_loss := above(view, cell, other, WORTH):
                yield possible_loss


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"{it.subject}: {it.measured} against {it.better} at {it.other_size}, {it.ratio}."


RULE = Rule(
    name="larger",
    tells=f"An operation takes more than {WORTH:g} times as long as the same at the next larger"
    " size that was measured, beyond what the ceilings of both explain.",
    find=find,
    origin="settings",
    headline="{it.short} takes {it.measured}, {it.other_size} {it.better} ({it.times})",
    sentence=sentence,
    action="Move the threshold of the library, or send the larger message.",
    remedy="Move the threshold at which the library changes its protocol or algorithm, or send the"
    " larger message.",
    settings=[RENDEZVOUS, EAGER],
    sources=[GUIDELINES, SHARED_MEMORY, THRESHOLDS],
)
