# SPDX-License-Identifier: Apache-2.0
"""Allreduce between two hosts: trees send less between them than the bus bandwidth counts."""

from nearpeak.appraisal.view import Reason, Rule, View, again

GOOD_OF_RINGS, ABOVE_RINGS = 0.8, 1.02  # of the rate of the NICs


def find(view: View) -> Reason | None:
    """Compares the bus bandwidth with the rate of the NICs of a host."""
    figure, share = view.figure, view.share
    if figure.benchmark != "allreduce" or figure.hosts != 2 or share is None:
        return None
    if share < GOOD_OF_RINGS:
        return None
    return Reason(
        "between two hosts trees send less than busbw counts: it may exceed the NICs' rate",
        again(view, "NCCL_ALGO=RING"),
        near=True,
        open="" if share >= ABOVE_RINGS else "rings from trees",
    )


RULE = Rule(1, find, "allreduce between two hosts, near the rate of their NICs or above")
