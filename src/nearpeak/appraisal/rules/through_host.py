# SPDX-License-Identifier: Apache-2.0
"""GPUs of one host exchange data through host memory."""

from nearpeak.appraisal.view import TOPOLOGY, Reason, Rule, View, log
from nearpeak.terms.ratings import FAIR, GOOD


def find(view: View) -> Reason | None:
    """Looks into the log, else at the share of PCIe that GPUs without NVLink reach."""
    figure, gpu = view.figure, view.hardware.gpu
    low = view.share is not None and view.share < GOOD
    if not (figure.on_gpus and view.inside and low and view.is_rate):
        return None
    if "SHM" in figure.clues.routes:
        return Reason(
            "NCCL copies through host memory (SHM), as its log says, and not between GPUs",
            TOPOLOGY,
            certain=True,
        )
    if gpu is None or view.hardware.link != "pcie" or (view.share or 1) >= FAIR:
        return None
    return Reason(
        "copies through host memory, or between sockets, and not from GPU to GPU",
        log(view),
    )


RULE = Rule(3, find, "copies through host memory between GPUs of one host, by the log or the rate")
