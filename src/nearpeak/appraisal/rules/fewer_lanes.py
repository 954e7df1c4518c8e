# SPDX-License-Identifier: Apache-2.0
"""The rate of half of the PCIe lanes, or of an older generation of them."""

from nearpeak.appraisal.view import Reason, Rule, View, pcie_gbs
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
    of_gpu = view.of_pcie and not (figure.collective or figure.on_gpus)
    of_nic = figure.clues.tool == "perftest" and figure.on_hosts
    if not of_gpu and not of_nic:
        return None
    newest = gpu.pcie if of_gpu and gpu else NEWEST
    if not (lanes := _lanes(view.one_way, newest)):
        return None
    return Reason(
        f"the rate of PCIe {' or '.join(lanes)}: see what the link has",
        OF_GPU if of_gpu else OF_NIC,
    )


def _lanes(gbs: float, newest: int) -> list[str]:
    """The generations and widths whose rate this is, the widest first."""
    kinds = [
        f"{generation}.0 x{width}"
        for width in WIDTHS
        for generation in range(3, newest + 1)
        if LEAST <= gbs / (pcie_gbs(generation) * width / WIDTHS[0]) <= MOST
    ]
    return kinds[:2]


RULE = Rule(2, find, "copies, or perftest, at the rate of fewer or older PCIe lanes")
