# SPDX-License-Identifier: Apache-2.0
"""Levels of latencies."""

import pytest
from made_tables import appraised, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Latency", [(8, 1.5)]), "", True),
        (osu("Latency", [(8, 18.0)], "DD"), "", True),
        (osu("Latency", [(65536, 18.0)]), "", False),
        (osu("Bandwidth", [(8, 18.0)]), "", False),
    ],
)
def test_small_messages_have_a_level(text: str, machine: str, said: bool) -> None:
    assert ("latency_level" in rules(appraised(text, machine))) is said
