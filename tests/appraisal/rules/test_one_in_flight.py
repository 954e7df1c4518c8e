# SPDX-License-Identifier: Apache-2.0
"""Latencies of large messages."""

import pytest
from made_tables import MIB, appraised, imb_ping_pong, osu, rules


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


@pytest.mark.parametrize(
    ("us", "state", "said"),
    [(370.0, "near", False), (480.0, "unsure", True), (900.0, "below", False)],
)
def test_a_large_message_there_and_back_nearly_shows_the_path(
    us: float, state: str, said: bool
) -> None:
    text = imb_ping_pong([(8, 1.3), (2 * MIB, us / 2), (4 * MIB, us)])
    appraisal = appraised(text, "1x100g")
    assert appraisal.state == state
    assert ("one_in_flight" in rules(appraisal)) is said


def test_smaller_tables_are_of_times() -> None:
    assert appraised(imb_ping_pong([(8, 1.3), (MIB, 90.0)]), "1x100g").unit == "us"
