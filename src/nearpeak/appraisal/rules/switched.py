# SPDX-License-Identifier: Apache-2.0
"""Allreduce above the rate of rings: NVSwitch adds up."""

from nearpeak.appraisal.references import ABOVE
from nearpeak.appraisal.view import Effect, Reason, Rule, View, again


def find(view: View) -> Reason | None:
    """Compares the bus bandwidth with the rate of rings, where no other is known."""
    gpu, figure, share = view.hardware.gpu, view.figure, view.share
    adds = gpu is not None and gpu.adds and view.inside
    if not adds or figure.benchmark != "allreduce" or share is None or share <= ABOVE:
        return None
    if figure.value > view.most_added:
        return None
    return Reason(
        "NVSwitch reduces in the switch (NVLink SHARP): less is sent than busbw counts",
        again(view, "NCCL_NVLS_ENABLE=0"),
        effect=Effect.REMARKS,
    )


RULE = Rule(1, find, "allreduce above the rate of rings on GPUs whose NVSwitch adds up")
