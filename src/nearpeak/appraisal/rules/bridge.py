# SPDX-License-Identifier: Apache-2.0
"""Cards above the rate of PCIe: a bridge of NVLink joins them."""

from nearpeak.appraisal.view import TOPOLOGY, Reason, Rule, View

LEAST = 1.1  # of the rate of PCIe


def find(view: View) -> Reason | None:
    """Compares the rate between cards with that of PCIe."""
    gpu, figure = view.hardware.gpu, view.figure
    over = view.share is not None and view.share > LEAST
    if not (gpu and view.hardware.link == "pcie" and over and view.inside and figure.on_gpus):
        return None
    return Reason(
        "a bridge of NVLink joins the cards: what it sustains is not known here", TOPOLOGY
    )


RULE = Rule(1, find, "GPUs on cards that exchange more than PCIe sustains")
