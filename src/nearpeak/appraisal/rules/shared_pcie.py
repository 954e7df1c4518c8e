# SPDX-License-Identifier: Apache-2.0
"""Collectives of several cards: they share the ways of the CPUs, and no lane is a bound of all."""

from nearpeak.appraisal.view import TOPOLOGY, Reason, Rule, View
from nearpeak.terms.ratings import GOOD

LEAST = 0.2  # of the rate of PCIe: less is not for sharing alone


def find(view: View) -> Reason | None:
    """Looks at the share of PCIe of three cards or more."""
    figure = view.figure
    cards = view.inside and view.hardware.link == "pcie" and figure.collective
    if not cards or (figure.ranks or 0) < 3 or view.share is None:
        return None
    if not LEAST <= view.share < GOOD:
        return None
    return Reason(
        "cards share the ways through the CPUs, or copy through host memory",
        TOPOLOGY,
        open="what lies between the cards",
    )


RULE = Rule(2, find, "collectives of cards at 20 to 80 % of PCIe")
