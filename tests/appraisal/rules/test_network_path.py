# SPDX-License-Identifier: Apache-2.0
"""GPUs of several hosts."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(H100, [bus_us(512 * MIB, 100, 32)], hosts=4), "8x400g", True),
        (nccl(H100, [bus_us(512 * MIB, 350, 32)], hosts=4), "8x400g", False),
        (nccl(H100, [bus_us(512 * MIB, 100, 32)], hosts=4), "", False),  # no NIC is known
    ],
)
def test_rates_below_the_nics_are_explained(text: str, machine: str, said: bool) -> None:
    assert ("network_path" in rules(appraised(text, machine))) is said
