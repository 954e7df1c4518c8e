# SPDX-License-Identifier: Apache-2.0
"""Sizes that fall behind their neighbours."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Bandwidth", [(4096, 5e3), (8192, 6e3), (16384, 2e3), (32768, 9e3)]), "", True),
        (osu("Bandwidth", [(4096, 5e3), (8192, 6e3), (16384, 5.5e3), (32768, 9e3)]), "", False),
        (osu("Latency", [(1024, 2.0), (2048, 2.5), (4096, 9.0), (8192, 10.0)]), "", True),
        (osu("Latency", [(1024, 2.0), (2048, 2.5), (4096, 4.0), (8192, 7.0)]), "", False),
        (
            osu("Latency", [(1024, 0.2), (2048, 0.3), (4096, 0.9), (8192, 1.0)]),
            "",
            False,
        ),  # of the clock
        (osu("Bandwidth", [(64, 60.0), (128, 110.0), (256, 70.0), (MIB, 9e3)]), "", False),
        (
            nccl(H100, [(256, 12.0), (512, 90.0), (1024, 95.0), bus_us(512 * MIB, 5, 8)]),
            "",
            False,
        ),  # noise of small operations
        (
            nccl(H100, [(16384, 12.0), (32768, 90.0), (65536, 95.0), bus_us(512 * MIB, 5, 8)]),
            "",
            True,
        ),
    ],
)
def test_a_protocol_changes(text: str, machine: str, said: bool) -> None:
    assert ("dip" in rules(appraised(text, machine))) is said
