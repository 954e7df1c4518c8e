# SPDX-License-Identifier: Apache-2.0
"""Messages of OMB between host and GPU: its host memory is not registered with the driver, so that
the CPU copies all of it, and the link may be sound."""

from nearpeak.appraisal.view import Reason, Rule, View
from nearpeak.terms.ratings import GOOD

# GB/s. Plain copies from such memory and to it had 7.5 and 14.0 at 16 MiB, 7.9 and 15.6 at 64 MiB:
# H200, PCIe 5.0 x16, examples/h200x2-shipped.
MOST_GBS = 16.0


def find(view: View) -> Reason | None:
    """Looks at the rate of large messages between both kinds of memory."""
    figure, gpu = view.figure, view.hardware.gpu
    mixed = set(figure.case.buffers.split(",")) == {"H", "D"}
    if not mixed or figure.clues.tool != "osu" or not view.is_rate:
        return None
    # A NIC reads memory that is registered with it, and some GPUs all memory of the host.
    if view.between or view.of_nics or (gpu and gpu.c2c):
        return None
    if view.one_way > MOST_GBS or max(view.shares, default=0.0) >= GOOD:
        return None
    return Reason(
        "host memory is not registered: such copies reached 7.46 GB/s to an H200, 14.0 from it",
        _link(view),
    )


def _link(view: View) -> str:
    """A line that measures the link with registered memory; empty: no tool of it is known."""
    gpu = view.hardware.gpu
    if gpu is None or gpu.xgmi:
        return ""
    to_gpu = view.figure.case.buffers.startswith("H")
    return f"nvbandwidth -t {'host_to_device' if to_gpu else 'device_to_host'}_memcpy_ce"


RULE = Rule(2, find, "messages of OMB between host and GPU at up to 16 GB/s")
