# SPDX-License-Identifier: Apache-2.0
"""A NIC that reads or writes GPU memory across the CPU."""

from nearpeak.appraisal.view import TOPOLOGY, Reason, Rule, View
from nearpeak.terms.ratings import GOOD


def find(view: View) -> Reason | None:
    """Looks for perftest with GPU memory below the port's rate."""
    figure = view.figure
    if figure.clues.tool != "perftest" or figure.on_hosts or figure.of_time:
        return None
    if view.share is None or view.share >= GOOD:
        return None
    return Reason(
        "GPU and NIC below different PCIe bridges or sockets, or ACS between them",
        TOPOLOGY,
    )


RULE = Rule(2, find, "perftest with GPU memory, below the rate of its port")
