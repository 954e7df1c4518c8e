# SPDX-License-Identifier: Apache-2.0
"""Errors on the links of NVIDIA's GPUs, counted since their driver was loaded.

Only growth is a fault: sound links have counts of their past, of their start above all.
"""

from collections import Counter
from types import ModuleType
from typing import Any

from nearpeak.machine.gpus.nvml import MAX_LINKS, NvmlClient

# NVML_FI_DEV_NVLINK_..._ERROR_COUNT_TOTAL: of all links of a GPU, up to Ampere.
TOTALS = {38: "crc", 52: "replay", 59: "recovery"}
# NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, _RECOVERY and _CRC: of a link, on Hopper (seen with driver
# 580); NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS: of NVLink 5.
OF_LINK = {161: "replay", 162: "recovery", 163: "crc", 215: "recovery"}
Field = tuple[int, int]  # with its scope: a link, or 0
EVERY_TOTAL: list[Field] = [(field, 0) for field in TOTALS]
EVERY_LINK: list[Field] = [(field, link) for link in range(MAX_LINKS) for field in OF_LINK]
PCIE_REPLAYS = 94  # NVML_FI_DEV_PCIE_REPLAY_COUNTER


class LinkErrors:
    """Reads the counts of GPUs, in one call; asks each only for what it has answered before."""

    def __init__(self) -> None:
        self._answered: dict[tuple[str, str], list[Field]] = {}

    def of_links(self, asker: NvmlClient, device: Any, gpu: str) -> dict[tuple[int, str], int]:
        """The errors of each NVLink, by its number and their kind; empty where it has no counts."""
        asked = self._answered.get(("links", gpu), EVERY_LINK)
        values = asker.fields(device, asked)
        self._answered["links", gpu] = list(values)
        counts = Counter[tuple[int, str]]()
        for (field, link), count in values.items():
            counts[link, OF_LINK[field]] += count
        return dict(counts)

    def of_gpu(self, asker: NvmlClient, device: Any, gpu: str) -> dict[str, int]:
        """The errors of all NVLinks of a GPU together, by their kind."""
        asked = self._answered.get(("gpu", gpu), [*EVERY_TOTAL, *EVERY_LINK])
        values = asker.fields(device, asked)
        totals = {name: count for name, count in values.items() if name in EVERY_TOTAL}
        values = totals or values
        self._answered["gpu", gpu] = list(values)
        counts = Counter[str]()
        for (field, _), count in values.items():
            counts[(TOTALS | OF_LINK)[field]] += count
        return dict(counts)


def count_link_errors(nvml: ModuleType) -> dict[str, dict[str, int]]:
    """The errors of this machine's GPUs by UUID: `NVLink 3 replay` or `NVLink replay`, `PCIe
    replay`; empty where NVML does not answer."""
    asker = NvmlClient(nvml)
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return {}
    try:
        devices = [
            asker("nvmlDeviceGetHandleByIndex", index)
            for index in range(asker("nvmlDeviceGetCount", default=0))
        ]
        return {
            asker.text("nvmlDeviceGetUUID", device): _counts(asker, device)
            for device in devices
            if device is not None
        }
    finally:
        asker("nvmlShutdown")


def _counts(asker: NvmlClient, device: Any) -> dict[str, int]:
    errors = LinkErrors()
    counts = {
        f"NVLink {link} {kind}": count
        for (link, kind), count in errors.of_links(asker, device, "").items()
    } or {f"NVLink {kind}": count for kind, count in errors.of_gpu(asker, device, "").items()}
    replays = asker.field(device, PCIE_REPLAYS)
    return counts if replays is None else counts | {"PCIe replay": replays}
