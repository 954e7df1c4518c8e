# SPDX-License-Identifier: Apache-2.0
"""This machine with the devices of fake_cuda.cpp.

Tests import it by its name: `from fake_gpus import with_fake_gpus` (tests/conftest.py).
"""

import msgspec

from nearpeak.machine.discover import discover
from nearpeak.machine.machine import Gpu, GpuLink, Machine


def with_fake_gpus() -> Machine:
    """This machine with the two devices of fake_cuda.cpp."""
    gpus = [
        Gpu(
            index=index,
            vendor="nvidia",
            name="fake",
            uuid=UUIDS[index],
            pci=f"00000000:0{index}:00.0",
            numa_node=0,
            memory_bytes=1 << 30,
            memory_gbs=None,
            host_link="pcie",
            host_gbs=None,
        )
        for index in (0, 1)
    ]
    link = GpuLink(one=0, other=1, kind="nvlink", gbs=None)
    return msgspec.structs.replace(discover(), gpus=gpus, gpu_links=[link])


# Byte i of device n's UUID is 16 * i + n.
UUIDS = [
    "GPU-"
    + "-".join(
        "".join(f"{16 * byte + device:02x}" for byte in range(first, last))
        for first, last in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 16))
    )
    for device in (0, 1)
]
