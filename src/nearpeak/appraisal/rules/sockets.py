# SPDX-License-Identifier: Apache-2.0
"""TCP sockets between hosts: a debug log names them, or the rate is that of a slow port."""

from nearpeak.appraisal.view import Reason, Rule, View, log

PORTS = (1, 10, 25)  # Gb/s, of Ethernet ports without RDMA as a rule
LEAST, MOST = 0.8, 1.0  # of the nominal rate


def find(view: View) -> Reason | None:
    """Looks into the log, else compares the rate of large messages with those of slow ports."""
    if "NET/Socket" in view.figure.clues.routes:
        return Reason(
            "NCCL used TCP sockets between the hosts, as its log says, and no RDMA",
            "ibv_devinfo -v",
            certain=True,
        )
    if not view.is_rate or not view.between or view.figure.clues.tool == "perftest":
        return None
    nics = view.hardware.nics
    for gbits in (port for port in PORTS if nics is None or nics.gbits <= port):
        if LEAST <= view.figure.value * 8 / gbits <= MOST:
            return Reason(
                f"the rate is that of one Ethernet port of {gbits} Gb/s, as over TCP",
                log(view),
            )
    return None


RULE = Rule(
    1,
    find,
    "TCP between hosts, by the log or, unless faster NICs are named, by the rate of a slow port",
)
