# SPDX-License-Identifier: Apache-2.0
"""Allreduce that switches of the network may add up."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(H100, [bus_us(512 * MIB, 470, 32)], hosts=4), "8x400g", True),
        (nccl(H100, [bus_us(512 * MIB, 370, 32)], hosts=4), "8x400g", False),
        (nccl(H100, [bus_us(512 * MIB, 470, 16)], hosts=2), "8x400g", False),  # perhaps by trees
        (nccl(H100, [bus_us(512 * MIB, 900, 32)], hosts=4), "8x400g", False),  # more than is sent
    ],
)
def test_allreduce_above_the_nics(text: str, machine: str, said: bool) -> None:
    appraisal = appraised(text, machine)
    assert ("in_network" in rules(appraisal)) is said
    assert (appraisal.state == "unsure") is said
