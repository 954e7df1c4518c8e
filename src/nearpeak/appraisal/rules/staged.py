# SPDX-License-Identifier: Apache-2.0
"""GPU memory at a few GB/s: pieces through host memory, one after the other."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View, log

LIMIT_GBS = 5.0  # below the slowest link of GPUs of the last ten years, PCIe 3.0 x8


def find(view: View) -> Reason | None:
    """Looks at the rate of large messages of an MPI library or of UCX."""
    figure = view.figure
    of_message = figure.clues.tool in ("osu", "imb", "ucx_perftest")
    if figure.on_hosts or not (of_message and view.is_rate) or view.one_way >= LIMIT_GBS:
        return None
    return Reason(
        "GPU memory goes through host memory in pieces, or by TCP, unless the network is slow",
        log(view),
        effect=Effect.LOWERS,
    )


RULE = Rule(4, find, "messages of GPU memory below 5 GB/s, less than any link of GPUs")
