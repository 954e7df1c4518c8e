# SPDX-License-Identifier: Apache-2.0
"""GPUs whose NVLink may join several hosts: no NIC alone bounds them."""

from nearpeak.appraisal.references import ABOVE
from nearpeak.appraisal.view import Effect, Reason, Rule, View, log
from nearpeak.terms.ratings import GOOD


def find(view: View) -> Reason | None:
    """Compares the rate with that of NVLink."""
    shares = view.shares
    if not view.spans or not shares or GOOD <= max(shares) <= ABOVE:
        return None
    return Reason(
        "NVLink may join the hosts, all or in groups (racks)",
        log(view),
        effect=Effect.DOUBTS,
        missing="which hosts NVLink joins",
    )


RULE = Rule(1, find, "GPUs whose NVLink may join hosts, not near its rate")
