# SPDX-License-Identifier: Apache-2.0
"""Both ends are one port."""

import pytest
from made_tables import MIB, appraised, perftest, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (perftest([(MIB, 11e3)], ("0x05", "0x05")), "1x100g", True),
        (perftest([(MIB, 11e3)], ("0x05", "0x06")), "1x100g", False),
    ],
)
def test_nothing_crossed_a_network(text: str, machine: str, said: bool) -> None:
    assert ("loopback" in rules(appraised(text, machine))) is said
