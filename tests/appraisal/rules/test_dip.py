# SPDX-License-Identifier: Apache-2.0
"""Sizes that fall behind their neighbours."""

import pytest
from made_tables import appraised, osu, rules


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
    ],
)
def test_a_protocol_changes(text: str, machine: str, said: bool) -> None:
    assert ("dip" in rules(appraised(text, machine))) is said
