# SPDX-License-Identifier: Apache-2.0
"""Allreduce between two hosts: trees send less between them than the bus bandwidth counts."""

from nearpeak.appraisal.view import Reason, Rule, View

LEAST = 1.02  # of the rate of the NICs


def find(view: View) -> Reason | None:
    """Compares the bus bandwidth with the rate of the NICs of a host."""
    figure = view.figure
    over = view.share is not None and view.share >= LEAST
    if figure.benchmark != "allreduce" or figure.hosts != 2 or not over:
        return None
    return Reason(
        "between two hosts trees send less than busbw counts: it may exceed the NICs' rate",
        "NCCL_ALGO=RING ...",
        near=True,
    )


RULE = Rule(1, find, "allreduce between two hosts, above the rate of their NICs")
