# SPDX-License-Identifier: Apache-2.0
"""Two ranks of one host at the rate of a NIC: messages may go out and back."""

from nearpeak.appraisal.view import Reason, Rule, View, log

LEAST, MOST = 0.9, 1.02  # of the nominal rate of one


def find(view: View) -> Reason | None:
    """Compares the rate of one direction with that of a NIC."""
    figure, nics = view.figure, view.hardware.nics
    if nics is None or not view.inside or not view.is_rate or figure.ranks != 2:
        return None
    if not LEAST <= view.one_way / nics.gbs <= MOST:
        return None
    return Reason(
        f"the rate of a NIC of {nics.gbits} Gb/s: messages may leave the host and come back",
        log(view),
    )


RULE = Rule(1, find, "two ranks of one host at the rate of a NIC")
