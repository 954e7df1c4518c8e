# SPDX-License-Identifier: Apache-2.0
"""Allreduce between two hosts."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (nccl(H100, [bus_us(512 * MIB, 470, 16)], hosts=2), "8x400g", True),
        (nccl(H100, [bus_us(512 * MIB, 340, 16)], hosts=2), "8x400g", True),
        (nccl(H100, [bus_us(512 * MIB, 100, 16)], hosts=2), "8x400g", False),
        (nccl(H100, [bus_us(512 * MIB, 48, 2)], hosts=2, per_host=1), "1x400g", False),
        (nccl("NVIDIA H800", [bus_us(512 * MIB, 158, 16)], hosts=2), "8x400g", False),
        (nccl(H100, [bus_us(512 * MIB, 370, 32)], hosts=4), "8x400g", False),
    ],
)
def test_trees_send_less_than_busbw_counts(text: str, machine: str, said: bool) -> None:
    assert ("two_hosts" in rules(appraised(text, machine))) is said
