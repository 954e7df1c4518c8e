# SPDX-License-Identifier: Apache-2.0
"""TCP between hosts."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (
            nccl(
                H100,
                [bus_us(512 * MIB, 60, 16)],
                hosts=2,
                log="n:1:2 [0] NCCL INFO Channel 0 : 1 -> 0 via NET/Socket/0",
            ),
            "8x400g",
            True,
        ),
        (nccl(H100, [bus_us(512 * MIB, 1.1, 16)], hosts=2), "", True),
        (nccl(H100, [bus_us(512 * MIB, 1.1, 16)], hosts=2), "1x10g", True),
        # Of a faster NIC it may be anything.
        (nccl(H100, [bus_us(512 * MIB, 3.0, 16)], hosts=2), "2x200g", False),
        (nccl(H100, [bus_us(512 * MIB, 60, 16)], hosts=2), "8x400g", False),
        (nccl(H100, [bus_us(512 * MIB, 1.1, 8)]), "", False),  # one host
    ],
)
def test_a_log_or_the_rate_of_a_port_shows_tcp(text: str, machine: str, said: bool) -> None:
    assert ("sockets" in rules(appraised(text, machine))) is said
