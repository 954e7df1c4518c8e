# SPDX-License-Identifier: Apache-2.0
"""Alltoall between hosts below the rate of the NICs: how near it comes depends on the relays."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View, log
from nearpeak.terms.ratings import FAIR, GOOD


def find(view: View) -> Reason | None:
    """Compares alltoall with what the NICs of a GPU carry."""
    share = view.share
    of_hosts = view.figure.benchmark == "alltoall" and view.between
    if not of_hosts or share is None or not FAIR <= share < GOOD:
        return None
    return Reason(
        "each GPU sends to all others: hosts, switches and NICs share the ways unevenly",
        log(view),
        effect=Effect.HIDES,
        missing="how near alltoall comes to its NICs",
    )


RULE = Rule(2, find, "alltoall between hosts at 50 to 80 % of the NICs of a GPU")
