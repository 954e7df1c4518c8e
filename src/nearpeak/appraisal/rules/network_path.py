# SPDX-License-Identifier: Apache-2.0
"""GPUs of several hosts far below the NICs' rate."""

from nearpeak.appraisal.view import Reason, Rule, View, log
from nearpeak.terms.ratings import GOOD


def find(view: View) -> Reason | None:
    """Looks for NCCL between hosts below the rate of the NICs."""
    figure = view.figure
    crossed = (figure.hosts or 0) > 1 and figure.on_gpus
    if not crossed or not view.shares or max(view.shares) >= GOOD:
        return None
    return Reason(
        "GPUDirect RDMA off or across sockets, fewer NICs in use, a slow port (ibstat), or losses",
        log(view),
    )


RULE = Rule(5, find, "NCCL between hosts below the rate of their NICs")
