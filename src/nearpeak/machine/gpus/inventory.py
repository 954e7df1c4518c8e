# SPDX-License-Identifier: Apache-2.0
"""The GPUs that a vendor's file returns."""

import msgspec

from nearpeak.machine.machine import Gpu, GpuLink


class GpuInventory(msgspec.Struct, kw_only=True, frozen=True):
    """The GPUs of one vendor or of all, as Machine holds them."""

    gpus: list[Gpu] = []
    links: list[GpuLink] = []
    notes: list[str] = []
    mps: bool = False
