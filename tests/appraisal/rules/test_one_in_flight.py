# SPDX-License-Identifier: Apache-2.0
"""Latencies of large messages."""

import pytest
from made_tables import MIB, appraised, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Latency", [(MIB, 100.0), (4 * MIB, 400.0)]), "", True),
        (osu("Latency", [(1024, 2.0), (65536, 9.0)]), "", False),
        (osu("Bandwidth", [(MIB, 9e3), (4 * MIB, 9e3)]), "", False),
    ],
)
def test_a_latency_is_no_bandwidth(text: str, machine: str, said: bool) -> None:
    assert ("one_in_flight" in rules(appraised(text, machine))) is said
