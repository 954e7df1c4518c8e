# SPDX-License-Identifier: Apache-2.0
"""GPUs with NVLink at the rate of PCIe."""

from nearpeak.appraisal.view import Reason, Rule, View, pcie_gbs


def find(view: View) -> Reason | None:
    """Compares the rate of one direction with that of the lanes of the GPU."""
    gpu = view.hardware.gpu
    if not (gpu and gpu.nvlink and view.hardware.link == "nvlink" and view.is_rate):
        return None
    lanes = 1.1 * pcie_gbs(gpu.pcie)
    if (
        not (view.inside and view.figure.on_gpus)
        or view.one_way > lanes
        or "SHM" in view.figure.clues.routes
    ):
        return None
    return Reason(
        f"no more than PCIe {gpu.pcie}.0 x16 sustains: NVLink is down, or was not used",
        "nvidia-smi nvlink -s",
    )


RULE = Rule(2, find, "GPUs with NVLink that exchange no more than PCIe sustains")
