# SPDX-License-Identifier: Apache-2.0
"""Allreduce between two hosts: trees send less between them than the bus bandwidth counts."""

from nearpeak.appraisal.references import ABOVE, inside_gbs
from nearpeak.appraisal.view import Effect, Reason, Rule, View, again
from nearpeak.terms.ratings import GOOD


def find(view: View) -> Reason | None:
    """Compares the bus bandwidth with the rate of the NICs of a host."""
    figure, share = view.figure, view.share
    trees = figure.benchmark == "allreduce" and figure.hosts == 2 and (figure.ranks or 0) > 2
    if not trees or share is None or share < GOOD or figure.value > view.most_added:
        return None
    if not view.of_nics:
        return None
    rings = figure.clues.algorithm == "ring"
    # Near for trees as well, which the links inside a host bound.
    inside = inside_gbs(figure, view.hardware)
    if share <= ABOVE and (rings or (inside and figure.value >= GOOD * inside)):
        return None
    return Reason(
        "between two hosts trees send less than busbw counts: it may exceed the NICs' rate",
        again(view, "NCCL_ALGO=RING"),
        effect=Effect.REMARKS if share > ABOVE else Effect.DOUBTS,
        missing="" if share > ABOVE else "rings from trees",
    )


RULE = Rule(1, find, "allreduce between two hosts, near the rate of their NICs or above")
