# SPDX-License-Identifier: Apache-2.0
"""Cards above the rate of PCIe: a bridge of NVLink joins them."""

from nearpeak.appraisal.known import measured_ceiling
from nearpeak.appraisal.view import TOPOLOGY, Effect, Reason, Rule, View

LEAST = 1.1  # of the rate of PCIe


def find(view: View) -> Reason | None:
    """Compares the rate between cards with that of PCIe."""
    gpu, figure = view.hardware.gpu, view.figure
    over = view.share is not None and view.share > LEAST
    if not (gpu and view.hardware.link == "pcie" and over and view.inside and figure.on_gpus):
        return None
    if not gpu.bridge or view.one_way > gpu.bridge:
        return None
    pair = measured_ceiling("ring", gpu) if figure.ranks == 2 else None
    named = f": --machine {gpu.id}x2-nv{gpu.links} names it" if pair and pair.gpus else ""
    return Reason(
        f"a bridge of NVLink joins the cards{named}",
        TOPOLOGY,
        effect=Effect.DOUBTS,
        missing="what the bridge sustains",
    )


RULE = Rule(1, find, "GPUs on cards that exchange more than PCIe sustains")
