# SPDX-License-Identifier: Apache-2.0
"""One way to call MPI slower than another one that does the same."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, Rule, Seen, View, against
from nearpeak.findings.settings import RENDEZVOUS
from nearpeak.findings.sources import GUIDELINES, THRESHOLDS
from nearpeak.terms.axes import CALLS


def find(view: View) -> Iterator[Seen]:
    """Every time beside that of each other way of calling. Of rates, calls decide how many messages
    fly, and another rule tells what that costs."""
    for cell, other in view.pairs(CALLS):
        if cell.unit == "us" and (found := against(cell, other, WORTH)):
            yield Seen(cell, other, found)


RULE = Rule(
    name="calls",
    tells=f"An operation takes more than {WORTH:g} times as long by one kind of calls (blocking,"
    " nonblocking, persistent) as by another.",
    find=find,
    remedy="Use the faster calls for such operations, or give the library one threshold for both.",
    settings=[RENDEZVOUS],
    sources=[GUIDELINES, THRESHOLDS],
)
