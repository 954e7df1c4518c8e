# SPDX-License-Identifier: Apache-2.0
"""One NIC of several."""

import pytest
from made_tables import MIB, appraised, bus_us, nccl, osu, rules

L40S = "NVIDIA L40S"


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Bandwidth", [(MIB, 24e3), (4 * MIB, 24e3)]), "2x200g", True),
        (osu("Bandwidth", [(MIB, 46e3), (4 * MIB, 46e3)]), "2x200g", False),
        (osu("Bandwidth", [(MIB, 24e3), (4 * MIB, 24e3)]), "1x200g", False),
        (nccl(L40S, [bus_us(512 * MIB, 20, 32)], hosts=4), "4x200g", False),  # PCIe is the bound
    ],
)
def test_the_rate_of_one_nic(text: str, machine: str, said: bool) -> None:
    assert ("one_nic" in rules(appraised(text, machine))) is said
