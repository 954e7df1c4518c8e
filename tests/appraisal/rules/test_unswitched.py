# SPDX-License-Identifier: Apache-2.0
"""Rings where NVSwitch could add up."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(H100, [bus_us(512 * MIB, 360, 8)]), "", True),
        (nccl(H100, [bus_us(512 * MIB, 470, 8)]), "", False),
        (nccl("NVIDIA A100-SXM4-40GB", [bus_us(512 * MIB, 235, 8)]), "", False),
    ],
)
def test_allreduce_at_the_rate_of_rings(text: str, machine: str, said: bool) -> None:
    assert ("unswitched" in rules(appraised(text, machine))) is said
