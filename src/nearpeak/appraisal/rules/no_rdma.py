# SPDX-License-Identifier: Apache-2.0
"""Messages in host memory, or NCCL, far below a NIC: TCP, as no RDMA was found."""

from nearpeak.appraisal.references import FAR
from nearpeak.appraisal.view import Reason, Rule, View, log


def find(view: View) -> Reason | None:
    """Compares the rate with that of the NICs."""
    figure = view.figure
    of_message = figure.clues.tool in ("osu", "imb", "ucx_perftest") and figure.on_hosts
    of_nccl = figure.clues.tool == "nccl-tests" and view.between and view.hardware.nics
    of_either = (of_message or of_nccl) and view.is_rate and not view.inside
    if not of_either or not view.shares or max(view.shares) >= FAR:
        return None
    cause = (
        ", perhaps for want of a plugin, or a network with losses"
        if of_nccl
        else ": the library has no support of this network, or did not find it"
    )
    return Reason(f"TCP in place of RDMA{cause}", log(view))


RULE = Rule(2, find, "messages in host memory, or NCCL, below a fifth of the NICs")
