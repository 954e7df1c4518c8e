# SPDX-License-Identifier: Apache-2.0
"""Rates that fall at larger messages."""

import pytest
from made_tables import MIB, appraised, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Bandwidth", [(65536, 9e3), (MIB, 9e3), (4 * MIB, 3e3)]), "", True),
        (osu("Bandwidth", [(65536, 9e3), (MIB, 9e3), (4 * MIB, 6e3)]), "", False),
        (osu("Bandwidth", [(65536, 9e3), (4 * MIB, 3e3)]), "", False),  # two sizes are no curve
    ],
)
def test_large_messages_are_far_slower(text: str, machine: str, said: bool) -> None:
    assert ("falls" in rules(appraised(text, machine))) is said
