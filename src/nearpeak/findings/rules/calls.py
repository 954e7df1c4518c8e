# SPDX-License-Identifier: Apache-2.0
"""One kind of MPI calls slower than another one for the same operation."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.settings import RENDEZVOUS
from nearpeak.findings.sources import GUIDELINES, THRESHOLDS
from nearpeak.terms.axes import CALLS


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares times of different kinds of calls.

    Rates do not count: there calls determine the messages in flight (rule `blocking`).
    """
    for cell, other in view.pairs(CALLS):
        if cell.unit == "us" and (loss := against(cell, other, WORTH)):
            yield PossibleLoss(cell, other, loss)


RULE = Rule(
    name="calls",
    tells=f"An operation takes more than {WORTH:g} times as long by one kind of calls (blocking,"
    " nonblocking, persistent) as by another.",
    find=find,
    remedy="Use the faster calls for such operations, or give the library one threshold for both.",
    settings=[RENDEZVOUS],
    sources=[GUIDELINES, THRESHOLDS],
)
