# SPDX-License-Identifier: Apache-2.0
"""Both ends of a connection are one port: nothing crossed a network."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View, again


def find(view: View) -> Reason | None:
    """Compares the addresses that perftest printed."""
    if not view.figure.clues.looped:
        return None
    return Reason(
        "both ends are one port: the data crossed PCIe twice and no network",
        again(view),
        certain=True,
        effect=Effect.DOUBTS,
        missing="what the network sustains",
    )


RULE = Rule(0, find, "perftest between a port and itself")
