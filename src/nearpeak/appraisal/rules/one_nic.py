# SPDX-License-Identifier: Apache-2.0
"""The rate of one NIC, where the host has several."""

from nearpeak.appraisal.view import Reason, Rule, View, log

LEAST, MOST = 0.7, 1.02  # of the nominal rate of one


def find(view: View) -> Reason | None:
    """Compares the rate of one direction with that of each NIC."""
    nics = view.hardware.nics
    if nics is None or nics.number < 2 or not view.is_rate or view.inside:
        return None
    other = not view.of_nics if view.references else view.figure.collective
    if other or view.figure.clues.tool == "perftest" or view.figure.benchmark == "alltoall":
        return None
    if not LEAST <= view.one_way / nics.gbs <= MOST:
        return None
    return Reason(
        f"the rate of one of {nics.label}: the others are idle, or share its PCIe lanes",
        log(view),
    )


RULE = Rule(2, find, "the rate of one NIC of several")
