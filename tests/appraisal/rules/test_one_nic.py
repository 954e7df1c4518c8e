# SPDX-License-Identifier: Apache-2.0
"""One NIC of several."""

import pytest
from made_tables import MIB, appraised, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        (osu("Bandwidth", [(MIB, 24e3), (4 * MIB, 24e3)]), "2x200g", True),
        (osu("Bandwidth", [(MIB, 46e3), (4 * MIB, 46e3)]), "2x200g", False),
        (osu("Bandwidth", [(MIB, 24e3), (4 * MIB, 24e3)]), "1x200g", False),
    ],
)
def test_the_rate_of_one_nic(text: str, machine: str, said: bool) -> None:
    assert ("one_nic" in rules(appraised(text, machine))) is said
