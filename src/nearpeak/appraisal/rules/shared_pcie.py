# SPDX-License-Identifier: Apache-2.0
"""Cards that exchange data: they share the ways of the CPUs, and no lane is a bound of all."""

from nearpeak.appraisal.view import TOPOLOGY, Effect, Reason, Rule, View
from nearpeak.terms.ratings import FAIR, GOOD

LEAST = 0.2  # of the rate of PCIe: less is not for sharing alone


def find(view: View) -> Reason | None:
    """Looks at the share of PCIe of cards that exchange data."""
    figure, share = view.figure, view.share
    cards = view.hardware.link == "pcie" and figure.on_gpus and view.of_pcie
    if not cards or "SHM" in figure.clues.routes or share is None or share >= GOOD:
        return None
    pairs = figure.matrix and share >= FAIR
    rings = figure.collective and (figure.ranks or 0) > (figure.hosts or 1) and share >= LEAST
    if not (pairs or rings):
        return None
    return Reason(
        "cards share the ways through the CPUs, or copy through host memory",
        TOPOLOGY,
        effect=Effect.HIDES,
        missing="what lies between the cards",
    )


RULE = Rule(2, find, "cards that exchange data at 20 to 80 % of PCIe, of a matrix at 50 to 80 %")
