# SPDX-License-Identifier: Apache-2.0
"""Copies by a kernel between host and GPU: the copy engine may be faster."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View


def find(view: View) -> Reason | None:
    """Looks for nvbandwidth's `sm` testcases of host memory."""
    figure = view.figure
    by_kernel = figure.clues.tool == "nvbandwidth" and figure.who.settings.endswith("sm")
    if not by_kernel or figure.on_gpus:
        return None
    ways = {"P,D": "host_to_device", "D,P": "device_to_host"}
    return Reason(
        "a kernel copied (sm): that is of the kernel, and the copy engine (ce) shows the path",
        f"nvbandwidth -t {ways[figure.case.buffers]}_memcpy_ce",
        effect=Effect.HIDES,
        missing="what the copy engine reaches",
    )


RULE = Rule(0, find, "nvbandwidth's copies by a kernel between host and GPU")
