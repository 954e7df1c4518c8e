# SPDX-License-Identifier: Apache-2.0
"""Rates that still rise."""

import pytest
from made_tables import MIB, appraised, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Bandwidth", [(MIB, 3e3), (2 * MIB, 6e3)]), "1x100g", True),
        (osu("Bandwidth", [(MIB, 6e3), (2 * MIB, 6e3)]), "1x100g", False),
        (osu("Bandwidth", [(MIB, 3e3), (64 * MIB, 6e3)]), "1x100g", False),  # no neighbours
        (osu("Bandwidth", [(1024, 3e3), (2048, 3e3)]), "1x100g", True),
    ],
)
def test_small_sizes_show_no_rate(text: str, machine: str, said: bool) -> None:
    assert ("rising" in rules(appraised(text, machine))) is said
