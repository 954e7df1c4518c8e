# SPDX-License-Identifier: Apache-2.0
"""The rate of half of the PCIe lanes, or of an older generation of them.

Only tools whose host memory is registered show it: messages of an MPI library may be slower than
their link for many reasons (unregistered.py), and their rate be that of other lanes by chance.
"""

from nearpeak.appraisal.rules.unlike_pairs import lowest_is_far
from nearpeak.appraisal.view import Reason, Rule, View, pcie_gbs
from nearpeak.numbers import number
from nearpeak.terms.ratings import GOOD

LEAST, MOST = 0.88, 1.05  # of what such lanes sustain
WIDTHS = (16, 8, 4)
NEWEST = 5  # generation of NICs
OF_GPU = "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv"
OF_NIC = "lspci -vv | grep -E 'Ethernet|Infiniband|LnkSta:'"


def find(view: View) -> Reason | None:
    """Looks for lanes between a host and its GPU, or its NIC, that have the rate of the figure."""
    figure, gpu, share = view.figure, view.hardware.gpu, view.share
    if share is None or share >= GOOD or not view.is_rate:
        return None
    of_gpu = figure.clues.tool == "nvbandwidth" and view.of_pcie and not figure.on_gpus
    of_nic = figure.clues.tool == "perftest" and figure.on_hosts
    if not of_gpu and not of_nic:
        return None
    newest = gpu.pcie if of_gpu and gpu else NEWEST
    if not (lanes := _lanes(view.one_way, newest)):
        return None
    rate = f"the rate of PCIe {lanes}"
    if lowest_is_far(figure):
        pair = " to ".join(figure.place.pair)
        text = f"{pair} has {rate}, and the best pair {number(figure.best)} GB/s"
    else:
        text = f"{rate}: see what the link has"
    return Reason(text, OF_GPU if of_gpu else OF_NIC)


def _lanes(gbs: float, newest: int) -> str:
    """The generations and widths whose rate this is, the widest first; empty: none."""
    kinds = [
        f"{generation}.0 x{width}"
        for width in WIDTHS
        for generation in range(3, newest + 1)
        if LEAST <= gbs / (pcie_gbs(generation) * width / WIDTHS[0]) <= MOST
    ]
    return " or ".join(filter(None, [", ".join(kinds[:-1]), *kinds[-1:]]))


RULE = Rule(1, find, "nvbandwidth, or perftest, at the rate of fewer or older PCIe lanes")
