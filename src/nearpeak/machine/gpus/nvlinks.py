# SPDX-License-Identifier: Apache-2.0
"""NVLinks of NVIDIA's models.

NVML counts the links of a chip, of which a card need not have all: an H100 NVL has 12 of 18
(Azure/azurehpc-health-checks#162).
"""

import re

import msgspec


class NvlinkModel(msgspec.Struct, frozen=True):
    """A model by its name in NVML, and the NVLinks that a sound one has active."""

    pattern: str
    links: int
    bridged: bool = False  # a card that has none active without a bridge to another one

    def fits(self, name: str) -> bool:
        """True if this is the model with this name."""
        return re.search(self.pattern, name) is not None


# NVIDIA's data sheets: the rate of NVLink, both ways together, over that of a link, which is 40,
# 50 and from Blackwell on 100 GB/s. Not here: cards with a choice of one to three bridges (A100
# PCIe, A6000) or none, and Grace Hopper, whose links often lead nowhere.
MODELS = (
    NvlinkModel(r"P100-SXM2", 4),  # 160 GB/s
    NvlinkModel(r"V100-SXM[23]", 6),  # 300
    NvlinkModel(r"A100-SXM4", 12),  # 600
    NvlinkModel(r"A800-SXM4", 8),  # 400
    NvlinkModel(r"\bH100 80GB HBM3", 18),  # 900
    NvlinkModel(r"\bH800$", 8),  # 400
    NvlinkModel(r"\bH20$", 18),  # 900
    NvlinkModel(r"\bH200$", 18),  # 900
    NvlinkModel(r"\bB[23]00\b", 18),  # 1800
    NvlinkModel(r"\bH100 NVL", 12, bridged=True),  # 600
    NvlinkModel(r"\bH200 NVL", 18, bridged=True),  # 900
)
