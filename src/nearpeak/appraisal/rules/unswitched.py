# SPDX-License-Identifier: Apache-2.0
"""Allreduce at the rate of rings, where NVSwitch could add up."""

from nearpeak.appraisal.known import measured_ceiling
from nearpeak.appraisal.references import ABOVE
from nearpeak.appraisal.view import NCCL_LOG, Effect, Reason, Rule, View, again
from nearpeak.numbers import number

LEAST = 0.85  # of the rate of rings


def find(view: View) -> Reason | None:
    """Compares the rate with that of rings."""
    gpu, ring = view.hardware.gpu, measured_ceiling("ring", None)
    added = measured_ceiling("allreduce", gpu, ranks=view.figure.ranks or 0)
    if not (gpu and gpu.nvlink and ring and ring.share and added and view.inside):
        return None
    figure = view.figure
    rings = ring.share * gpu.nvlink
    if figure.benchmark != "allreduce":
        return None
    if not LEAST <= figure.value / rings <= ABOVE:
        return None
    return Reason(
        f"the rate of rings; NVLink SHARP reaches {number(added.gbs)} GB/s, where NCCL uses it",
        again(view, f"{NCCL_LOG} NCCL_ALGO=NVLS"),
        effect=Effect.REMARKS,
    )


RULE = Rule(1, find, "allreduce at the rate of rings on GPUs whose NVSwitch could add up")
