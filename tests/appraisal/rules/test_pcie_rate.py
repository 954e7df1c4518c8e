# SPDX-License-Identifier: Apache-2.0
"""NVLink that is not used."""

import pytest
from made_tables import A100_CARD, H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(H100, [bus_us(512 * MIB, 40, 8)]), "", True),
        (nccl(H100, [bus_us(512 * MIB, 200, 8)]), "", False),
        (nccl(A100_CARD, [bus_us(512 * MIB, 20, 8)]), "", False),  # it has none
    ],
)
def test_gpus_with_nvlink_at_the_rate_of_pcie(text: str, machine: str, said: bool) -> None:
    assert ("pcie_rate" in rules(appraised(text, machine))) is said
