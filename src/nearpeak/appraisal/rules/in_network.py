# SPDX-License-Identifier: Apache-2.0
"""Allreduce between three hosts or more above the NICs' rate: switches may add up the numbers."""

from nearpeak.appraisal.references import ABOVE
from nearpeak.appraisal.view import Effect, Reason, Rule, View, log


def find(view: View) -> Reason | None:
    """Compares the bus bandwidth with the rate of the NICs, and with what they can carry."""
    figure, share = view.figure, view.share
    several = figure.benchmark == "allreduce" and (figure.hosts or 0) > 2
    if not several or share is None or share <= ABOVE or figure.value > view.most_added:
        return None
    return Reason(
        "switches may reduce in the network (InfiniBand SHARP): less is sent than busbw counts",
        log(view),
        effect=Effect.DOUBTS,
        missing="whether the switches reduce (SHARP)",
    )


RULE = Rule(1, find, "allreduce between three hosts or more, above the rate of their NICs")
