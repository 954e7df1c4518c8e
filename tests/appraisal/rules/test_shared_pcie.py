# SPDX-License-Identifier: Apache-2.0
"""Cards that share PCIe."""

import pytest
from made_tables import A100_CARD, H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(A100_CARD, [bus_us(512 * MIB, 12, 8)]), "", True),
        (nccl(A100_CARD, [bus_us(512 * MIB, 3, 8)]), "", False),  # less than by sharing
        (nccl(A100_CARD, [bus_us(512 * MIB, 12, 2)], per_host=2), "", False),
        (nccl(H100, [bus_us(512 * MIB, 12, 8)]), "", False),
    ],
)
def test_cards_share_the_ways_of_the_cpus(text: str, machine: str, said: bool) -> None:
    assert ("shared_pcie" in rules(appraised(text, machine))) is said
