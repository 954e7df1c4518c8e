# SPDX-License-Identifier: Apache-2.0
"""Cards that share PCIe."""

import pytest
from made_tables import A100_CARD, H100, MIB, appraised, bus_us, nccl, nvbandwidth, rules

COPY = "device_to_device_memcpy_write_ce"
SHM = "node0:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] via SHM/direct/direct"


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(A100_CARD, [bus_us(512 * MIB, 12, 8)]), "", True),
        (nccl(A100_CARD, [bus_us(512 * MIB, 3, 8)]), "", False),  # less than by sharing
        (nccl(A100_CARD, [bus_us(512 * MIB, 12, 2)], per_host=2), "", True),
        (nccl(A100_CARD, [bus_us(512 * MIB, 12, 16)], hosts=2), "8x200g", True),
        (nccl(A100_CARD, [bus_us(512 * MIB, 12, 8)], log=SHM), "", False),
        (nvbandwidth(A100_CARD, COPY, [["N/A", "20.00"], ["20.00", "N/A"]]), "", True),
        (nvbandwidth(A100_CARD, COPY, [["N/A", "12.00"], ["12.00", "N/A"]]), "", False),
        (nccl(H100, [bus_us(512 * MIB, 12, 8)]), "", False),
    ],
)
def test_cards_share_the_ways_of_the_cpus(text: str, machine: str, said: bool) -> None:
    assert ("shared_pcie" in rules(appraised(text, machine))) is said
