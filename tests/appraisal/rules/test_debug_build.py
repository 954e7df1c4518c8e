# SPDX-License-Identifier: Apache-2.0
"""Libraries built for debugging."""

import pytest
from made_tables import MIB, appraised, osu, rules


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        ("UCX was compiled with debug mode\n" + osu("Bandwidth", [(MIB, 900.0)]), "", True),
        (osu("Bandwidth", [(MIB, 900.0)]), "", False),
    ],
)
def test_a_library_says_it(text: str, machine: str, said: bool) -> None:
    assert ("debug_build" in rules(appraised(text, machine))) is said
