# SPDX-License-Identifier: Apache-2.0
"""Copies through host memory."""

import pytest
from made_tables import A100_CARD, H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (
            nccl(
                H100,
                [bus_us(512 * MIB, 20, 8)],
                log="n:1:2 [0] NCCL INFO Channel 0 : 0 -> 1 via SHM/direct",
            ),
            "",
            True,
        ),
        (nccl(A100_CARD, [bus_us(512 * MIB, 5, 2)], per_host=2), "", True),
        (nccl(A100_CARD, [bus_us(512 * MIB, 25, 2)], per_host=2), "", False),
    ],
)
def test_gpus_of_one_host_copy_through_it(text: str, machine: str, said: bool) -> None:
    assert ("through_host" in rules(appraised(text, machine))) is said
