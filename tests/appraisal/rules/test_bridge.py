# SPDX-License-Identifier: Apache-2.0
"""Cards that a bridge of NVLink joins."""

import pytest
from made_tables import A100_CARD, H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(A100_CARD, [bus_us(512 * MIB, 200, 2)], per_host=2), "", True),
        (nccl(A100_CARD, [bus_us(512 * MIB, 25, 2)], per_host=2), "", False),
        (nccl(H100, [bus_us(512 * MIB, 200, 8)]), "", False),  # it has NVLink
    ],
)
def test_cards_above_pcie_have_a_bridge(text: str, machine: str, said: bool) -> None:
    assert ("bridge" in rules(appraised(text, machine))) is said
