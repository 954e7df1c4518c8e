# SPDX-License-Identifier: Apache-2.0
"""Levels of latencies."""

import pytest
from made_tables import MIB, appraised, imb_ping_pong, osu, rules


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


def test_the_level_of_efa_is_named() -> None:
    assert "EFA" in appraised(osu("Latency", [(8, 18.0)])).reasons[0].text
    assert "EFA" not in appraised(osu("Latency", [(8, 60.0)])).reasons[0].text


def test_it_is_a_note_on_a_rate_of_messages_there_and_back() -> None:
    appraisal = appraised(imb_ping_pong([(8, 1.3), (2 * MIB, 180.0), (4 * MIB, 360.0)]), "1x100g")
    assert (appraisal.state, appraisal.unit) == ("near", "GB/s")
    assert appraisal.reasons[0].text.startswith("1.30 µs at 8 B: the level of RDMA")
