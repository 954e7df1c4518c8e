# SPDX-License-Identifier: Apache-2.0
"""One kind of MPI calls slower than another one for the same operation."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import RENDEZVOUS
from nearpeak.findings.sources import GUIDELINES, THRESHOLDS
from nearpeak.terms.axes import AT_ONCE, CALLS


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares times of different kinds of calls.

    Rates do not count: there calls determine the messages in flight (rule `blocking`). Nor does one
    call beside several that share a wait, or that run at the same time.
    """
    for cell, other in view.pairs(CALLS):
        alike = cell.operations == other.operations and other.case.axes[CALLS] != AT_ONCE
        if alike and cell.unit == "us" and (loss := against(cell, other, WORTH)):
            yield PossibleLoss(cell, other, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    calls = [case.axes[CALLS] for case in (it.finding_case, it.other.case)]
    return (
        f"{it.subject}: {it.measured} by {calls[0]} calls against {it.better} by"
        f" {calls[1]} ones, {it.ratio}."
    )


RULE = Rule(
    name="calls",
    tells=f"An operation takes more than {WORTH:g} times as long by one kind of calls (blocking,"
    " nonblocking, persistent) as by another.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}, {it.better} by other calls ({it.times})",
    sentence=sentence,
    remedy="Use the faster calls for such operations, or give the library one threshold for both.",
    settings=[RENDEZVOUS],
    sources=[GUIDELINES, THRESHOLDS],
)
